package document

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sluice/internal/sandbox"
)

// Command is the argument with which the gateway's program runs [Main].
const Command = "document-text"

const (
	// textMax is the maximum size of a text, in bytes.
	textMax = 64 << 10
	// timeout and memory limit the command that reads one document.
	timeout = 20 * time.Second
	memory  = 512 << 20
	// processes are enough for the threads of the Go runtime.
	processes = 64
)

// The exit codes of [Main].
const (
	exitDamaged = 3
	exitUnknown = 4
)

// These errors say why there is no text.
var (
	ErrUnknown = errors.New("not a document that can be read")
	ErrDamaged = errors.New("the document is damaged, or protected by a password")
	ErrLimit   = errors.New("reading the document takes too much time or memory")
	ErrNoTool  = errors.New("pdftotext (package poppler-utils) is not installed")
	// ErrNoSandbox is wrapped with the reason.
	ErrNoSandbox = errors.New("documents are read in a sandbox, and it is not available")
)

// Runner runs a command in a sandbox, see [sandbox.Bubblewrap].
type Runner interface {
	Available(ctx context.Context) error
	Run(ctx context.Context, c sandbox.Config, command ...string) (sandbox.Result, error)
}

// Reader reads documents. It is safe for concurrent use.
type Reader struct {
	Sandbox Runner
	Program string // path of the gateway's program
}

// Text is what a document says.
type Text struct {
	Text string
	List bool // it lists the files of an archive
	Cut  bool // there was more
}

// Text extracts the text of a document. The content decides what it is; mime matters for HTML only.
func (r *Reader) Text(ctx context.Context, mime string, content []byte) (Text, error) {
	command := r.command(mime, content)
	if command == nil {
		return Text{}, ErrUnknown
	}
	if err := r.Sandbox.Available(ctx); err != nil {
		return Text{}, fmt.Errorf("%w: %w", ErrNoSandbox, err)
	}
	result, err := r.Sandbox.Run(ctx, sandbox.Config{
		Mounts: []sandbox.Mount{{}}, ReadOnly: []string{r.Program}, Stdin: string(content), Timeout: timeout, Output: textMax,
		Limits: sandbox.Limits{Memory: memory, Processes: processes, FileSize: memory},
	}, command...)
	switch {
	case err != nil:
		return Text{}, fmt.Errorf("read document: %w", err)
	case result.TimedOut, result.Stopped != "":
		return Text{}, fmt.Errorf("%w: %s", ErrLimit, result.Stopped)
	case result.ExitCode == exitUnknown && command[0] == r.Program:
		return Text{}, ErrUnknown
	case result.ExitCode == 127:
		return Text{}, ErrNoTool
	case result.ExitCode != 0:
		return Text{}, fmt.Errorf("%w: %s", ErrDamaged, firstLine(result.Stderr))
	}
	text, list := strings.CutPrefix(result.Stdout, listMark)
	text = strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\x00", "")
	return Text{Text: strings.TrimSpace(text), List: list, Cut: result.Truncated}, nil
}

// command is the command that reads a document; nil if it can't be one.
func (r *Reader) command(mime string, content []byte) []string {
	switch {
	case bytes.Contains(content[:min(len(content), 1024)], []byte("%PDF-")):
		// sh says with 127 that a program is missing; bwrap has only one code for all of its errors.
		return []string{"sh", "-c", "exec pdftotext -q -enc UTF-8 - -"}
	case formatOf(content) != "", mime == "text/html", mime == "application/xhtml+xml":
		return []string{r.Program, Command}
	}
	return nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
