package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// printer shows the events of one turn.
type printer struct {
	*app
	run     string
	shown   bool // something of the answer was printed
	open    bool // the last line has no end yet
	closed  bool // the run has ended, or a command was answered
	failure bool
	seen    map[string]bool // deliveries whose notice was printed
}

func (p *printer) event(e event) {
	if e.Run != "" {
		p.run = e.Run
	}
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
		p.note("[the model failed; trying again]")
		p.shown = false
	case "note":
		p.note(e.Text)
	case "message.notice":
		p.closed = p.run == "" // else it is a question that the run may wait for
		p.notice(e)
	case "run.done":
		p.closed = true
		switch {
		case e.Withheld != nil:
			p.note(e.Withheld.line())
		case !p.shown && e.Text == "":
			p.note("[it had nothing to say]")
		case !p.shown:
			p.text(e.Text)
		}
	case "run.failed", "run.aborted", "run.dropped":
		p.closed, p.failure = true, true
		p.fail(e)
	}
}

// notice prints a notice once: the answer to a command comes in its own stream and in that of the run.
func (p *printer) notice(e event) {
	if p.seen[e.Delivery] {
		return
	}
	if e.Delivery != "" {
		if p.seen == nil {
			p.seen = map[string]bool{}
		}
		p.seen[e.Delivery] = true
	}
	p.paragraph(e.Text)
	for _, b := range e.Buttons {
		p.note("[" + b.Label + ": " + b.Value + "]")
	}
}

func (p *printer) text(s string) {
	if s == "" {
		return
	}
	fmt.Fprint(p.Stdout, piece(s))
	p.shown, p.open = true, !strings.HasSuffix(s, "\n")
}

func (p *printer) paragraph(s string) {
	p.endLine()
	fmt.Fprintln(p.Stdout, safe(s))
}

// note is not part of the answer: it goes to standard error.
func (p *printer) note(s string) {
	p.endLine()
	fmt.Fprintln(p.Stderr, clean(s))
}

func (p *printer) fail(e event) {
	p.endLine()
	word := strings.TrimPrefix(e.Type, "run.")
	fmt.Fprintf(p.Stderr, "sluice: %s\n", orText(clean(e.Text), "the run was "+word))
}

func (p *printer) endLine() {
	if p.open {
		fmt.Fprintln(p.Stdout)
		p.open = false
	}
}

// end says how the turn went, given how its stream ended.
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
