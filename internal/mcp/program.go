package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sluice/adapters"
	"sluice/internal/leash"
)

// writeWait is how long a program may leave its input unread.
const writeWait = 10 * time.Second

// program is a server that runs as a child of the gateway, on a leash. Its goroutines are life and logErrors; stop waits
// for both.
type program struct {
	cmd      *exec.Cmd
	leash    *leash.Leash // set by life before started
	stdin    *os.File
	stdout   *os.File
	stderr   *os.File
	farewell time.Duration
	over     atomic.Bool   // its output has ended
	gone     chan struct{} // closed when the program and its group have ended
	reason   error         // how it ended; set before gone is closed
	wg       sync.WaitGroup
}

// openProgram starts the server's program. The connection ends with the program.
func (v *server) openProgram(c *connection) (transport, error) {
	p := &program{farewell: v.cfg.Pace.Farewell, gone: make(chan struct{})}
	theirs, err := p.pipes()
	if err != nil {
		closeAll(append(theirs, p.stdin, p.stdout, p.stderr))
		return transport{}, fmt.Errorf("make pipes: %w", err)
	}
	p.cmd = exec.Command(v.Command[0], v.Command[1:]...) //nolint:gosec,noctx // the configuration names it; it lives as long as its connection, which stop ends
	p.cmd.Env = environment(v.Env)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirs[0], theirs[1], theirs[2]
	started := make(chan error)
	p.wg.Go(func() { p.life(started, c.cancel) })
	err = <-started
	closeAll(theirs)
	if err != nil {
		closeAll([]*os.File{p.stdin, p.stdout, p.stderr})
		p.wg.Wait()
		return transport{}, fmt.Errorf("start program: %w", err)
	}
	p.wg.Go(func() { v.logErrors(p.stderr) })
	pipes := &sdk.IOTransport{Reader: output{p.stdout, &p.over}, Writer: patientWriter{p.stdin, func(err error) { c.cancel(p.end(err)) }}, MaxLineLength: messageMax}
	return transport{Transport: pipes, why: p.why, startClose: p.stop, end: func() {}}, nil
}

// pipes creates the three pipes; theirs are the program's ends.
func (p *program) pipes() (theirs []*os.File, err error) {
	in, stdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	theirs, p.stdin = append(theirs, in), stdin
	for _, ours := range []**os.File{&p.stdout, &p.stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			return theirs, err
		}
		theirs, *ours = append(theirs, w), r
	}
	return theirs, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close() // a pipe that is no longer needed
		}
	}
}

// inherited are the variables that programs get from the gateway's own environment. On Windows most need more than
// PATH to start.
func inherited() []string {
	if runtime.GOOS == "windows" {
		return []string{"PATH", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TEMP", "SYSTEMROOT", "COMSPEC", "PATHEXT"}
	}
	return []string{"PATH", "HOME"}
}

// environment returns a program's environment: its own variables and the inherited ones.
func environment(own map[string]adapters.Secret) []string {
	var env []string
	for _, name := range inherited() {
		if _, ok := own[name]; !ok {
			env = append(env, name+"="+os.Getenv(name))
		}
	}
	for name, value := range own {
		env = append(env, name+"="+value.Reveal())
	}
	slices.Sort(env)
	return env
}

// life starts the program and waits for its end.
func (p *program) life(started chan<- error, ended context.CancelCauseFunc) {
	defer close(p.gone)
	name := filepath.Base(p.cmd.Path)
	var err error
	p.leash, err = leash.Start(p.cmd)
	started <- err
	if err != nil {
		return
	}
	p.leash.Release()
	_ = p.leash.Wait() // the process state says how it ended
	p.reason = fmt.Errorf("the program %s ended (%v); the log has what it wrote to stderr", name, p.cmd.ProcessState)
	ended(p.reason)
}

// why returns how the program ended if its output has ended; otherwise the error is the reason, and the program ends because of it.
func (p *program) why(err error) error {
	if !p.over.Load() {
		return err
	}
	return p.end(err)
}

// end returns how the program ended, which is seen slightly later than that its pipes are closed; err if it does not end.
func (p *program) end(err error) error {
	if p.ends(p.farewell) {
		return p.reason
	}
	return err
}

// stop ends the program: it closes its input, then sends a signal, then kills it.
func (p *program) stop() {
	_ = p.stdin.Close() // already closed if the session has closed it
	for _, end := range []func() error{p.leash.Terminate, p.leash.Kill} {
		if p.ends(p.farewell) {
			break
		}
		_ = end() // its group may have ended
	}
	<-p.gone
	closeAll([]*os.File{p.stdout, p.stderr})
	p.wg.Wait()
}

func (p *program) ends(within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-p.gone:
		return true
	case <-timer.C:
		return false
	}
}

// output is what a program writes. It notes its end.
type output struct {
	file *os.File
	over *atomic.Bool
}

var _ io.ReadCloser = output{}

func (o output) Read(b []byte) (int, error) {
	n, err := o.file.Read(b)
	if errors.Is(err, io.EOF) {
		o.over.Store(true)
	}
	return n, err
}

func (o output) Close() error { return o.file.Close() }

// patientWriter ends the connection if the program does not read: half a message may have been written.
type patientWriter struct {
	*os.File
	fail func(error)
}

var _ io.WriteCloser = patientWriter{}

// Write writes all of p in time, or ends the connection.
func (w patientWriter) Write(p []byte) (int, error) {
	err := w.SetWriteDeadline(time.Now().Add(writeWait))
	if errors.Is(err, os.ErrNoDeadline) { // on Windows; the end of the connection kills the program, and that ends the write
		late := time.AfterFunc(writeWait, func() { w.fail(errors.New("the program does not read its input")) })
		defer late.Stop()
		err = nil
	}
	n := 0
	if err == nil {
		n, err = w.File.Write(p)
	}
	if err != nil {
		w.fail(fmt.Errorf("the program does not read its input: %w", err))
	}
	return n, err
}
