package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"sluice/internal/cli/api"
)

// turn is one message, from when it is sent until its answer is complete.
type turn struct {
	chat   *Chat
	print  printer
	events chan api.Event // of the answer
	ended  chan error     // how its stream ended
	cancel context.CancelFunc
	sides  sync.WaitGroup
	noted  chan api.Event // of commands that are typed in the meantime
	beside int            // commands that were not answered yet

	interrupts int
	stopped    bool     // the gateway was asked to stop the run
	left       bool     // it no longer waits for anything
	asked      []string // approvals that were shown and may be open
}

// turn sends one message and prints the answer as it arrives. [turn.typed] handles what is typed in the meantime.
func (c *Chat) turn(ctx context.Context, text string) error {
	ctx, cancel := context.WithCancel(ctx)
	t := &turn{chat: c, print: printer{screen: c.Screen}, events: make(chan api.Event), ended: make(chan error, 1), cancel: cancel, noted: make(chan api.Event)}
	defer t.sides.Wait()
	defer cancel()
	go func() {
		t.ended <- c.Client.Say(ctx, c.Session, text, func(e api.Event) error { return pass(ctx, t.events, e) })
		close(t.events)
	}()
	for {
		if t.interrupts > 0 && t.print.run != "" && !t.stopped {
			t.stop(ctx)
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
			if t.interrupts++; t.interrupts > 1 {
				t.leave()
			}
		}
	}
}

// commandEnded is the type of the event that says that a command was answered.
const commandEnded = "command ended"

// note handles an event of a command that was typed while the answer arrived.
func (t *turn) note(e api.Event) {
	if e.Type == commandEnded {
		t.beside--
		return
	}
	t.print.event(e)
}

// finishCommands waits for the answers to commands that were typed before the answer was complete. An interrupt ends
// the waiting.
func (t *turn) finishCommands() {
	for t.beside > 0 && !t.left {
		select {
		case e := <-t.noted:
			t.note(e)
		case <-t.chat.Signals:
			t.leave()
		}
	}
}

// stop asks the gateway to stop the run. An event says when it has stopped.
func (t *turn) stop(ctx context.Context) {
	t.stopped = true
	if err := t.chat.Client.StopRun(ctx, t.chat.Session, t.print.run); err != nil {
		t.print.note("sluice: stop the run: " + err.Error())
	}
}

// leave stops waiting for the answer. The run goes on.
func (t *turn) leave() {
	t.print.failure, t.left = true, true
	t.cancel()
}

// lines are the lines to handle while the answer arrives. From a terminal these are all. From a pipe they are only the
// lines after a question: the others are meant for the time after the answer.
func (t *turn) lines() <-chan line {
	if t.chat.Terminal || len(t.asked) > 0 {
		return t.chat.in.more()
	}
	return nil
}

var approvalCommand = regexp.MustCompile(`^/approve (apr_\w+) `)

func (t *turn) event(e api.Event) {
	t.print.event(e)
	for _, b := range e.Buttons {
		if m := approvalCommand.FindStringSubmatch(b.Value); m != nil {
			t.ask(m[1])
		}
	}
}

// ask remembers a question that was shown, and says how to answer it.
func (t *turn) ask(id string) {
	if slices.Contains(t.asked, id) {
		return
	}
	if t.asked = append(t.asked, id); len(t.asked) > 1 {
		t.choose()
		return
	}
	t.print.note("Type y to allow it, n to deny it.")
}

// choose says that y or n is not enough.
func (t *turn) choose() {
	t.print.note(fmt.Sprintf("%d questions are open. Answer one: /approve ID allow, or /approve ID deny.", len(t.asked)))
}

// typed handles a line that is typed while the answer arrives. A command is sent at once, y or n answers the open
// question, and anything else is sent after the answer.
func (t *turn) typed(ctx context.Context, l line) {
	text := strings.ToLower(strings.TrimSpace(l.text))
	switch {
	case l.err != nil:
		t.inputEnded(l.err)
	case text == "":
	case isQuit(text):
		t.chat.in.end = io.EOF
		t.leave()
	case strings.HasPrefix(text, "/"):
		t.command(ctx, strings.TrimSpace(l.text))
	case len(t.asked) > 0 && (text == "y" || text == "yes"):
		t.decide(ctx, "allow")
	case len(t.asked) > 0 && (text == "n" || text == "no"):
		t.decide(ctx, "deny")
	case !t.chat.in.keep(l.text):
		t.print.note(fmt.Sprintf("[ignored: %d lines are waiting already]", keptMax))
	case len(t.asked) > 0:
		t.print.note("[will be sent after the reply; first answer the question with y or n]")
	}
}

func (t *turn) inputEnded(err error) {
	t.chat.in.end = err
	if len(t.asked) > 0 {
		id := t.asked[len(t.asked)-1]
		t.print.note("The input ended and a question is open. Answer it with: sluice approvals allow " + id + ", or sluice approvals deny " + id)
	}
}

// errNotCommand: a line that looked like a command became a message, whose answer comes after this one.
var errNotCommand = errors.New("this is not a command, so it was sent as a message. `sluice sessions history` will show the reply")

// command sends a command while the answer arrives. What it answers is printed when it comes.
func (t *turn) command(ctx context.Context, text string) {
	t.beside++
	t.sides.Go(func() {
		bounded, cancel := context.WithTimeout(ctx, api.CallTimeout)
		defer cancel()
		err := t.chat.Client.Say(bounded, t.chat.Session, text, func(e api.Event) error {
			if e.Run != "" {
				return errNotCommand
			}
			return pass(bounded, t.noted, e)
		})
		if err != nil {
			_ = pass(ctx, t.noted, api.Event{Type: "note", Text: "sluice: " + err.Error()}) // fails where the person has left
		}
		_ = pass(ctx, t.noted, api.Event{Type: commandEnded}) // the same
	})
}

// decide answers the open question, if exactly one of those that were shown is open.
func (t *turn) decide(ctx context.Context, verb string) {
	waiting, err := t.chat.Client.Waiting(ctx)
	if err != nil {
		t.print.note("sluice: " + err.Error())
		return
	}
	t.asked = slices.DeleteFunc(t.asked, func(id string) bool {
		return !slices.ContainsFunc(waiting, func(p api.Approval) bool { return p.ID == id })
	})
	switch len(t.asked) {
	case 0:
		t.print.note("[no question is open]")
	case 1:
		t.answer(ctx, t.asked[0], verb)
	default:
		t.choose()
		for _, id := range t.asked {
			t.print.note("  " + id)
		}
	}
}

func (t *turn) answer(ctx context.Context, id, verb string) {
	if _, err := t.chat.Client.Call(ctx, api.DecisionRequest(id, verb, "")); err != nil {
		t.print.note("sluice: " + err.Error())
		return
	}
	t.asked = nil
	t.print.note(map[string]string{"allow": "[allowed]", "deny": "[denied]"}[verb])
}

// pass gives an event to the goroutine that prints it.
func pass(ctx context.Context, to chan<- api.Event, e api.Event) error {
	select {
	case to <- e:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
