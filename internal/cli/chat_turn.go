package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"sluice/router/ledger"
)

// turn is one thing that was said, until its answer is there. Its goroutines read the stream of the answer, and the
// answers to commands that are typed meanwhile; they end with the turn.
type turn struct {
	*chat
	print  printer
	events chan event
	ended  chan error
	cancel context.CancelFunc
	sides  sync.WaitGroup
	noted  chan event // of commands that were typed meanwhile
	beside int        // commands that have no answer yet

	stops   int  // interrupts
	stopped bool // the run was asked to end
	left    bool // nothing is waited for any more
	asked   []ledger.ApprovalID
}

// turn says one thing and prints the answer as it comes. What is typed meanwhile is read where it can be for now: see [turn.typed].
func (c *chat) turn(ctx context.Context, text string) error {
	ctx, cancel := context.WithCancel(ctx)
	t := &turn{chat: c, print: printer{app: c.app}, events: make(chan event), ended: make(chan error, 1), cancel: cancel, noted: make(chan event)}
	defer t.sides.Wait()
	defer cancel()
	go func() {
		t.ended <- c.stream(ctx, text, func(e event) error { return pass(ctx, t.events, e) })
		close(t.events)
	}()
	for {
		if t.stops > 0 && t.print.run != "" && !t.stopped {
			t.stopped = true
			c.stop(ctx, t.print.run)
		}
		select {
		case e, ok := <-t.events:
			if !ok {
				err := t.print.end(<-t.ended)
				t.finishCommands()
				return err
			}
			t.event(e)
		case e := <-t.noted:
			t.note(e)
		case l := <-t.lines():
			t.typed(ctx, l)
		case <-c.Signals:
			if t.stops++; t.stops > 1 {
				t.leave()
			}
		}
	}
}

// commandEnded is the type of the event that says that a command was answered.
const commandEnded = "command ended"

// note takes an event of a command that was typed while the answer came.
func (t *turn) note(e event) {
	if e.Type == commandEnded {
		t.beside--
		return
	}
	t.print.event(e)
}

// finishCommands waits for the answers to commands that were typed before the answer was there. An interrupt ends it.
func (t *turn) finishCommands() {
	for t.beside > 0 && !t.left {
		select {
		case e := <-t.noted:
			t.note(e)
		case <-t.Signals:
			t.leave()
		}
	}
}

// leave ends the waiting for the answer, which goes on.
func (t *turn) leave() {
	t.print.failure = true // nobody waits for it any more
	t.left = true
	t.cancel()
}

// lines are those that are read while the answer comes: at a terminal all, from elsewhere only while a question waits,
// as what comes after it may be meant for the answer to come.
func (t *turn) lines() <-chan line {
	if t.Terminal || len(t.asked) > 0 {
		return t.in.more()
	}
	return nil
}

var approvalCommand = regexp.MustCompile(`^/approve (apr_\w+) `)

func (t *turn) event(e event) {
	t.print.event(e)
	for _, b := range e.Buttons {
		if m := approvalCommand.FindStringSubmatch(b.Value); m != nil {
			t.ask(ledger.ApprovalID(m[1]))
		}
	}
}

// ask notes a question that was shown, and says how it is answered.
func (t *turn) ask(id ledger.ApprovalID) {
	if slices.Contains(t.asked, id) {
		return
	}
	if t.asked = append(t.asked, id); len(t.asked) > 1 {
		t.which()
		return
	}
	t.print.note("Type y to allow it, n to deny it.")
}

// which says that a bare y or n is not enough.
func (t *turn) which() {
	t.print.note(fmt.Sprintf("%d questions wait. Say which one: /approve ID allow, or deny.", len(t.asked)))
}

// typed handles a line while the answer comes. A command is said at once, y or n decides about the question that
// waits, and all else is said after the answer.
func (t *turn) typed(ctx context.Context, l line) {
	text := strings.ToLower(strings.TrimSpace(l.text))
	switch {
	case l.err != nil:
		t.in.end = l.err
		if len(t.asked) > 0 {
			t.print.note("The input has ended, and a question waits: sluice approvals allow " + string(t.asked[len(t.asked)-1]) + ", or deny.")
		}
	case text == "":
	case isEnd(text):
		t.in.end = io.EOF
		t.leave()
	case strings.HasPrefix(text, "/"):
		t.command(ctx, strings.TrimSpace(l.text))
	case len(t.asked) > 0 && (text == "y" || text == "yes"):
		t.decide(ctx, "allow")
	case len(t.asked) > 0 && (text == "n" || text == "no"):
		t.decide(ctx, "deny")
	case !t.in.keep(l.text):
		t.print.note(fmt.Sprintf("[not taken: %d lines wait already]", keptMost))
	case len(t.asked) > 0:
		t.print.note("[said after the answer; a question waits: y or n]")
	}
}

// errNoCommand: what was typed beside an answer has an answer of its own, which comes after that one.
var errNoCommand = errors.New("that is no command; it is worked on after this, and sluice sessions history shows its answer")

// command says a command beside the answer. What it answers is shown when it comes.
func (t *turn) command(ctx context.Context, text string) {
	t.beside++
	t.sides.Go(func() {
		bounded, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		err := t.stream(bounded, text, func(e event) error {
			if e.Run != "" {
				return errNoCommand
			}
			return pass(bounded, t.noted, e)
		})
		if err != nil {
			_ = pass(ctx, t.noted, event{Type: "note", Text: "sluice: " + err.Error()}) // fails where the person has left
		}
		_ = pass(ctx, t.noted, event{Type: commandEnded}) // the same
	})
}

// decide answers the question that waits, if there is exactly one of those that were shown.
func (t *turn) decide(ctx context.Context, verb string) {
	var waiting struct {
		Approvals []struct{ ID ledger.ApprovalID }
	}
	if _, err := t.client.decode(ctx, request{path: "/v1/approvals", query: queryOf("status", "pending", "limit", "200")}, &waiting); err != nil {
		t.print.note("sluice: " + err.Error())
		return
	}
	t.asked = slices.DeleteFunc(t.asked, func(id ledger.ApprovalID) bool {
		return !slices.ContainsFunc(waiting.Approvals, func(p struct{ ID ledger.ApprovalID }) bool { return p.ID == id })
	})
	switch len(t.asked) {
	case 0:
		t.print.note("[no question waits any more]")
	case 1:
		t.decided(ctx, t.asked[0], verb)
	default:
		t.which()
		for _, id := range t.asked {
			t.print.note("  " + string(id))
		}
	}
}

func (t *turn) decided(ctx context.Context, id ledger.ApprovalID, verb string) {
	path := "/v1/approvals/" + url.PathEscape(string(id)) + "/" + verb
	if _, err := t.client.call(ctx, request{method: http.MethodPost, path: path}); err != nil {
		t.print.note("sluice: " + err.Error())
		return
	}
	t.asked = nil
	t.print.note(map[string]string{"allow": "[allowed]", "deny": "[denied]"}[verb])
}

// pass gives an event to who prints it.
func pass(ctx context.Context, to chan<- event, e event) error {
	select {
	case to <- e:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
