package router

import (
	"context"
	"errors"
	"fmt"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/place"
	"sluice/router/speech"
	"sluice/sessions"
)

// Compactor is the optional ability of an [Agent] to shorten a session's thread.
type Compactor interface {
	// Compact lets a summary stand for the older part of the thread, and stores it.
	// [sessions.ErrNothingToCompact] says that there is none; other errors are as those of Work.
	Compact(ctx context.Context, a Assignment) (Compacted, error)
}

// Compacted is what a compaction has come to.
type Compacted struct {
	Messages      int // that the summary stands for
	Before, After int // of the thread, in bytes
	Usage         sessions.Usage
}

// takeUp brings a run's input into the thread, in memory: as its newest message, or as its order says.
func takeUp(ctx context.Context, session *sessions.Session, run sessions.Run, files []string) error {
	order := run.Input.Order
	switch {
	case order == nil:
		session.Append(userMessage(run, files))
	case order.Do == sessions.OrderEdit:
		if old := speech.Newest(session.Messages()); old.Run == order.Run {
			_, err := session.EditMessage(ctx, old.ID, userMessage(run, files))
			return err
		}
		session.Append(userMessage(run, files))
	case order.Do == sessions.OrderRetry:
		return refusal(session.Retry(ctx, ""), "There is nothing here that I could answer anew.")
	}
	return nil
}

// refusal makes a sentence of the error that there is no turn.
func refusal(err error, text string) error {
	if errors.Is(err, sessions.ErrNoTurn) {
		return &sessions.WorkError{Status: sessions.RunFailed, Public: text, Err: err}
	}
	return err
}

// perform does a run's work: the agent's, or what the order of a command says.
func (w *sessionWorker) perform(ctx context.Context, a Assignment) (Answer, error) {
	if a.Run.Kind != sessions.KindCommand {
		return w.agent.Work(ctx, a)
	}
	order := a.Run.Input.Order
	switch order.Do {
	case sessions.OrderUndo:
		return w.undo(ctx, a.Session, order.N)
	case sessions.OrderSwitch:
		return w.switchTo(ctx, a.Session, order)
	case sessions.OrderCompact:
		return w.compact(ctx, a)
	case sessions.OrderRaise:
		return w.raise(a.Session, a.Run)
	}
	return Answer{}, fmt.Errorf("no such order: %q", order.Do)
}

func (w *sessionWorker) undo(ctx context.Context, session *sessions.Session, n int) (Answer, error) {
	undone, err := session.Undo(ctx, n)
	if err != nil {
		return Answer{}, refusal(err, "There is nothing here that I could take back.")
	}
	text := "I have taken back the last turn, as if it had not been said."
	if undone > 1 {
		text = fmt.Sprintf("I have taken back the last %d turns, as if they had not been said.", undone)
	}
	if undone < n {
		text += " There were no more."
	}
	return Answer{Text: text}, nil
}

func (w *sessionWorker) switchTo(ctx context.Context, session *sessions.Session, order *sessions.Order) (Answer, error) {
	err := session.Switch(ctx, order.Message)
	if errors.Is(err, sessions.ErrNotFound) {
		return Answer{}, &sessions.WorkError{Status: sessions.RunFailed, Public: "That branch is not there.", Err: err}
	}
	if err != nil {
		return Answer{}, err
	}
	return Answer{Text: fmt.Sprintf("We go on from branch %d.", order.N)}, nil
}

func (w *sessionWorker) compact(ctx context.Context, a Assignment) (Answer, error) {
	compactor, ok := w.agent.(Compactor)
	if !ok {
		return Answer{Text: "This agent can't shorten what was said."}, nil
	}
	got, err := compactor.Compact(ctx, a)
	if errors.Is(err, sessions.ErrNothingToCompact) {
		return Answer{Text: "There is nothing yet that I could shorten."}, nil
	}
	if err != nil {
		return Answer{}, err
	}
	quotes := policy.NewQuotation(w.gate.SinkLevel(a.Run.Route))
	how := flow.NewText(fmt.Sprintf("a summary stands for %d messages. What I read with each answer has gone from about %d to about %d tokens.",
		got.Messages, got.Before/bytesPerToken, got.After/bytesPerToken), a.Session.Taint())
	text := "I have shortened what we said: " + quotes.Or(how, "a summary stands for the older part of it.")
	return Answer{Usage: got.Usage, Text: text, Quotes: quotes.Label()}, nil
}

// raise lets a session rise to a level that its clearance allows.
func (w *sessionWorker) raise(session *sessions.Session, run *sessions.Run) (Answer, error) {
	level, record := run.Input.Order.Level, session.Record()
	if !flow.CanFlow(level, record.Clearance) {
		return Answer{Text: place.AboveClearance(record, level)}, nil
	}
	session.Raise(flow.NewLabel(level, flow.Trusted))
	session.Audit(sessions.AuditEntry{
		At: w.now(), Actor: sessions.Principal(run.Route.Channel, run.Input.Sender.ID), Action: "session.raise", Object: string(record.Key),
		Session: record.ID, Label: session.Taint(), Detail: map[string]string{"from": record.Taint.Level().String(), "to": session.Taint().Level().String()},
	})
	now := session.Taint().Level()
	if run.Route.ChatType != sessions.Direct {
		now = level // what it had learnt before is for its owner alone, in private
	}
	text := fmt.Sprintf("This conversation is at %s now: I can use here what is %s or lower, until `/new`.", now, now)
	if carries := w.gate.SinkLevel(run.Route); !flow.CanFlow(now, carries) {
		text += fmt.Sprintf(" What I then answer may not be said here, where only %s is carried.", carries)
	}
	return Answer{Text: text}, nil
}

// bytesPerToken is a rough measure, for people.
const bytesPerToken = 4
