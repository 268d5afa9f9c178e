package work

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/place"
	"sluice/sessions"
)

// orders carries out the commands that a session's worker has to run.
type orders struct {
	agent     Agent
	sinkLevel func(route sessions.Route) flow.Level
	now       func() time.Time
}

// carryOut carries out a command's order.
func (o *orders) carryOut(ctx context.Context, a Assignment) (Answer, error) {
	order := a.Run.Input.Order
	switch order.Do {
	case sessions.OrderUndo:
		return o.undo(ctx, a.Session, order.N)
	case sessions.OrderSwitch:
		return o.switchTo(ctx, a.Session, order)
	case sessions.OrderCompact:
		return o.compact(ctx, a)
	case sessions.OrderRaise:
		return o.raise(a.Session, a.Run)
	}
	return Answer{}, fmt.Errorf("unknown order %q", order.Do)
}

func (o *orders) undo(ctx context.Context, session *sessions.Session, n int) (Answer, error) {
	undone, err := session.Undo(ctx, n)
	if err != nil {
		return Answer{}, refusal(err, "There is nothing to undo.")
	}
	text := "I have undone the last turn."
	if undone > 1 {
		text = fmt.Sprintf("I have undone the last %d turns.", undone)
	}
	if undone < n {
		text += " There were no more."
	}
	return Answer{Text: text}, nil
}

func (o *orders) switchTo(ctx context.Context, session *sessions.Session, order *sessions.Order) (Answer, error) {
	err := session.Switch(ctx, order.Message)
	if errors.Is(err, sessions.ErrNotFound) {
		return Answer{}, &sessions.WorkError{Status: sessions.RunFailed, Public: "That branch does not exist.", Err: err}
	}
	if err != nil {
		return Answer{}, err
	}
	return Answer{Text: fmt.Sprintf("Continuing from branch %d.", order.N)}, nil
}

func (o *orders) compact(ctx context.Context, a Assignment) (Answer, error) {
	compactor, ok := o.agent.(Compactor)
	if !ok {
		return Answer{Text: "This agent can't summarize conversations."}, nil
	}
	got, err := compactor.Compact(ctx, a)
	if errors.Is(err, sessions.ErrNothingToCompact) {
		return Answer{Text: "There is nothing to summarize yet."}, nil
	}
	if err != nil {
		return Answer{}, err
	}
	quotes := policy.NewQuotation(o.sinkLevel(a.Run.Route))
	how := flow.NewText(fmt.Sprintf("a summary replaces %d messages. Each reply now reads about %[3]d tokens instead of about %[2]d.",
		got.Messages, got.Before/bytesPerToken, got.After/bytesPerToken), a.Session.Taint())
	text := "I have shortened our conversation: " + quotes.Or(how, "a summary replaces the older messages.")
	return Answer{Usage: got.Usage, Text: text, Quotes: quotes.Label()}, nil
}

// raise raises a session to a level within its clearance.
func (o *orders) raise(session *sessions.Session, run *sessions.Run) (Answer, error) {
	level, record := run.Input.Order.Level, session.Record()
	if !flow.CanFlow(level, record.Clearance) {
		return Answer{Text: place.AboveClearance(record, level)}, nil
	}
	session.Raise(flow.NewLabel(level, flow.Trusted))
	session.Audit(sessions.AuditEntry{
		At: o.now(), Actor: sessions.Principal(run.Route.Channel, run.Input.Sender.ID), Action: "session.raise", Object: string(record.Key),
		Session: record.ID, Label: session.Taint(), Detail: map[string]string{"run": string(run.ID), "from": record.Taint.Level().String(), "to": session.Taint().Level().String()},
	})
	now := session.Taint().Level()
	if run.Route.ChatType != sessions.Direct {
		now = level // only an owner in private may know the session's earlier level
	}
	text := fmt.Sprintf("This conversation is now at %s: I can use information up to %s here, until `/new`.", now, now)
	if carries := o.sinkLevel(run.Route); !flow.CanFlow(now, carries) {
		text += fmt.Sprintf(" My replies can then be withheld, because information above %s may not be sent here.", carries)
	}
	return Answer{Text: text}, nil
}

// bytesPerToken is a rough estimate, for people.
const bytesPerToken = 4
