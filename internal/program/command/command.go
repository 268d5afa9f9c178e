// Package command starts programs that are agents of kind command: one process for each run, with turns on its standard
// input and frames on its standard output, one JSON object on each line.
package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"sluice/agentkit"
	"sluice/internal/program"
	"sluice/internal/sandbox"
)

// Runner runs a process to its end, see [sandbox.Bubblewrap] and [sandbox.Host].
type Runner interface {
	Run(ctx context.Context, c sandbox.Config, command ...string) (sandbox.Result, error)
}

// Config has the dependencies of Commands. All fields are required.
type Config struct {
	Sandbox, Host Runner
	Limits        func() sandbox.Limits
}

// Commands starts processes. It is safe for concurrent use.
type Commands struct{ Config }

// New creates Commands.
func New(c Config) *Commands { return &Commands{c} }

const (
	// defaultTimeout is how long a process may live if the run has no limit.
	defaultTimeout = 24 * time.Hour
	// lastWords is how long the output of a process that has ended is still read.
	lastWords = time.Second
	// errorOutput is how much of a process's standard error is kept, in bytes.
	errorOutput = 4 << 10
)

// For returns the way to the program that argv starts.
func (c *Commands) For(argv []string, sandboxed bool) *Command {
	runner := c.Host
	if sandboxed {
		runner = c.Sandbox
	}
	return &Command{argv: argv, runner: runner, limits: c.Limits}
}

// Command is the way to one program.
type Command struct {
	argv   []string
	runner Runner
	limits func() sandbox.Limits
}

var _ program.Carrier = (*Command)(nil)

// Begin implements [program.Carrier]: it starts a process.
func (c *Command) Begin(ctx context.Context, run program.Run) (program.Line, error) {
	folder, remove, err := folderOf(run)
	if err != nil {
		return nil, err
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		remove()
		return nil, fmt.Errorf("start program: %w", err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		remove()
		return nil, errors.Join(fmt.Errorf("start program: %w", err), inR.Close(), inW.Close())
	}
	timeout := run.Timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	// The process outlives the context of one turn; Close ends it.
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p := &process{in: inW, cancel: cancel, lines: make(chan []byte)}
	p.work.Go(func() {
		defer remove()
		result, err := c.runner.Run(life, sandbox.Config{Workspace: folder, ReadOnly: sandbox.Readable(c.argv), Timeout: timeout, Output: errorOutput, In: inR, Out: outW, Limits: c.limits()}, c.argv...)
		p.why = why(result, err)
		_, _ = inR.Close(), outW.Close()                    // the process has its own; the reader sees the end now
		_ = outR.SetReadDeadline(time.Now().Add(lastWords)) // or soon, if a process that was left behind keeps it open
	})
	p.work.Go(func() { p.read(life, outR) })
	return p, nil
}

// folderOf is the working directory of a process: that of the session's files, or a temporary one.
func folderOf(run program.Run) (folder string, remove func(), err error) {
	if run.Folder != "" {
		return run.Folder, func() {}, nil
	}
	folder, err = os.MkdirTemp("", "sluice-program-")
	if err != nil {
		return "", nil, fmt.Errorf("start program: %w", err)
	}
	return folder, func() { _ = os.RemoveAll(folder) }, nil // a folder in a temporary place
}

// why says how a process ended.
func why(r sandbox.Result, err error) string {
	text := fmt.Sprintf("it exited with code %d", r.ExitCode)
	switch {
	case err != nil:
		text = err.Error()
	case r.Stopped != "":
		text = r.Stopped
	case r.TimedOut:
		text = "its time was over"
	}
	if line, _, _ := strings.Cut(strings.TrimSpace(r.Stderr), "\n"); line != "" {
		text += "; it wrote: " + line
	}
	return text
}

// process is a started program.
type process struct {
	in     *os.File
	cancel context.CancelFunc
	lines  chan []byte // closed at the end
	work   sync.WaitGroup

	// Set before lines is closed.
	why  string
	long bool // a line was too long
}

// read hands on the lines that the process writes.
func (p *process) read(ctx context.Context, out *os.File) {
	defer close(p.lines)
	defer out.Close() //nolint:errcheck // only read from
	s := bufio.NewScanner(out)
	s.Buffer(nil, agentkit.FrameMax+1)
	for s.Scan() {
		if len(s.Bytes()) == 0 {
			continue
		}
		select {
		case p.lines <- append([]byte(nil), s.Bytes()...):
		case <-ctx.Done():
			return
		}
	}
	p.long = errors.Is(s.Err(), bufio.ErrTooLong)
}

// Send implements [program.Line]. A program that does not read is given up when ctx ends.
func (p *process) Send(ctx context.Context, turn []byte, _ string) error {
	ctx, cancel := context.WithTimeout(ctx, agentkit.Silence)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = p.in.SetWriteDeadline(time.Unix(1, 0)) })() // the write below fails then
	_, err := p.in.Write(append(turn, '\n'))
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return nil // Next says why it has ended
	}
	if ctx.Err() != nil {
		return &program.EndedError{Why: "it did not read its standard input"}
	}
	return &program.EndedError{Why: err.Error()}
}

// Next implements [program.Line].
func (p *process) Next(ctx context.Context) ([]byte, error) {
	select {
	case line, ok := <-p.lines:
		switch {
		case ok:
			return line, nil
		case p.long:
			return nil, fmt.Errorf("the program wrote a line of more than %d bytes", agentkit.FrameMax)
		}
		p.cancel()
		p.work.Wait()
		return nil, &program.EndedError{Why: p.why}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Close implements [program.Line]: it kills the process with its children, and waits for their end.
func (p *process) Close(string) {
	_ = p.in.Close()
	p.cancel()
	p.work.Wait()
}
