package chat

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"sluice/internal/cli/api"
	"sluice/internal/cli/terminal"
)

// printer prints the events of one turn: the answer to standard output, notes to standard error.
type printer struct {
	screen  terminal.Screen
	run     string
	shown   bool // a piece of the answer was printed
	open    bool // the last line is not complete
	closed  bool // the run ended, or a command was answered
	failure bool
	seen    map[string]bool // deliveries whose notice was printed
}

func (p *printer) event(e api.Event) {
	p.run = cmp.Or(e.Run, p.run)
	switch e.Type {
	case "text.delta":
		p.text(e.Text)
	case "tool.call":
		p.note("[" + e.Tool + "]")
	case "tool.result":
		if e.Failed {
			p.note("[" + e.Tool + " failed]")
		}
	case "run.retrying":
		p.note("[the model failed; retrying]")
		p.shown = false
	case "note":
		p.note(e.Text)
	case "message.notice":
		p.closed = p.run == "" // within a run it may be a question that the run waits for
		p.notice(e)
	case "run.done":
		p.closed = true
		p.done(e)
	case "run.failed", "run.aborted", "run.dropped":
		p.closed, p.failure = true, true
		p.fail(e)
	}
}

func (p *printer) done(e api.Event) {
	switch {
	case e.Withheld != nil:
		p.note(e.Withheld.Line())
	case !p.shown && e.Text == "":
		p.note("[the agent did not answer]")
	case !p.shown:
		p.text(e.Text)
	}
}

// notice prints a notice once: the answer to a command comes in the command's stream and in the run's.
func (p *printer) notice(e api.Event) {
	if p.seen[e.Delivery] {
		return
	}
	if e.Delivery != "" {
		if p.seen == nil {
			p.seen = map[string]bool{}
		}
		p.seen[e.Delivery] = true
	}
	p.endLine()
	fmt.Fprintln(p.screen.Out, terminal.Text(e.Text))
	for _, b := range e.Buttons {
		p.note("[" + b.Label + ": " + b.Value + "]")
	}
}

func (p *printer) text(s string) {
	if s == "" {
		return
	}
	fmt.Fprint(p.screen.Out, terminal.Fragment(s))
	p.shown, p.open = true, !strings.HasSuffix(s, "\n")
}

func (p *printer) note(s string) {
	p.endLine()
	fmt.Fprintln(p.screen.Err, terminal.Line(s))
}

func (p *printer) fail(e api.Event) {
	text := map[string]string{"run.failed": "the run failed", "run.aborted": "the run was stopped", "run.dropped": "the message was dropped"}[e.Type]
	p.note("sluice: " + cmp.Or(e.Text, text))
}

func (p *printer) endLine() {
	if p.open {
		fmt.Fprintln(p.screen.Out)
		p.open = false
	}
}

// end is the result of the turn, given how its stream ended.
func (p *printer) end(err error) error {
	p.endLine()
	switch {
	case p.failure:
		return errRunFailed
	case p.closed:
		return nil
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return err
	}
	return errCut
}
