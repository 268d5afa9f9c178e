package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/policy/flow"
	"sluice/router/job"
	"sluice/router/ledger"
	"sluice/router/request"
	"sluice/sessions"
)

// The bounds of what one author has left for a heartbeat that was not told yet.
const (
	WakesMax     = 20
	WakeBytesMax = 16 << 10
)

// Errors of texts for a heartbeat that callers branch on.
var (
	ErrOtherWake  = errors.New("another text has the same id")
	ErrNotPlanned = errors.New("the heartbeat has no next time yet")
)

// Woken says when a text for a heartbeat is told.
type Woken struct {
	Job  string    // of the heartbeat
	Next time.Time // the heartbeat's next time; zero: it was told before
}

// Wake leaves a text for the next heartbeat of an agent. It is stored in the waiting trigger of the heartbeat. The same text with
// the same id changes nothing, as long as the trigger that told it is among the latest ones.
func (s *Jobs) Wake(ctx context.Context, agent, actor string, w ledger.TriggerWake) (Woken, error) {
	id := job.HeartbeatOf(agent)
	beat, ok := s.configured(id)
	if !ok {
		return Woken{}, &request.Error{Field: "mode", Text: fmt.Sprintf("the agent %s has no heartbeat: set agents.list[].heartbeat.every in sluice.yaml, or use the mode now", agent)}
	}
	err := ErrNotPlanned
	for range tries {
		var got Woken
		if got, err = s.leave(ctx, &beat.Job, actor, w); !errors.Is(err, sessions.ErrConflict) {
			return got, err
		}
	}
	return Woken{}, err
}

// leave is one attempt.
func (s *Jobs) leave(ctx context.Context, beat *job.Job, actor string, w ledger.TriggerWake) (Woken, error) {
	id := beat.ID
	open, err := s.Store.OpenTriggersOf(ctx, ledger.TriggerCron, []string{id})
	if err != nil {
		return Woken{}, fmt.Errorf("read open triggers: %w", err)
	}
	past, err := s.Store.ListTriggers(ctx, ledger.TriggerQuery{Source: ledger.TriggerCron, Subject: id, MaxLevel: flow.Restricted, Limit: job.HistoryMax})
	if err != nil {
		return Woken{}, fmt.Errorf("read earlier instants: %w", err)
	}
	var next *ledger.Trigger
	for i := range open {
		if t := &open[i]; t.Status == ledger.TriggerWaiting && t.By == "" && !t.Begun() {
			next = t
		}
	}
	if known, err := repeats(w, open, past); known || err != nil {
		return wokenAt(beat, next, &w), err
	}
	j, err := s.find(ctx, id)
	switch {
	case err != nil:
		return Woken{}, err
	case j.Paused():
		return Woken{}, &request.Error{Field: "mode", Text: fmt.Sprintf("the heartbeat is paused: resume it with sluice cron resume %s, or use the mode now", id)}
	case next == nil:
		return Woken{}, ErrNotPlanned
	}
	if _, ok := beat.Opening(next.Instant); !ok {
		return Woken{}, &request.Error{Field: "mode", Text: fmt.Sprintf("%s: %s, or use the mode now", id, neverOpen(beat))}
	}
	if err := roomFor(w, next.Wakes); err != nil {
		return Woken{}, err
	}
	next.Revision++
	job.Leave(next, w)
	err = s.Commit(ctx, ledger.Change{Triggers: []ledger.Trigger{*next}, Change: sessions.Change{Audit: []sessions.AuditEntry{
		{At: s.Now(), Actor: actor, Action: "cron.wake", Object: id, Label: w.Label},
	}}})
	return wokenAt(beat, next, &w), err
}

// wokenAt says when a stored text is told.
func wokenAt(beat *job.Job, next *ledger.Trigger, w *ledger.TriggerWake) Woken {
	got := Woken{Job: beat.ID}
	if next != nil && holds(next, w) {
		got.Next, _ = beat.Opening(next.Instant)
	}
	return got
}

func holds(t *ledger.Trigger, w *ledger.TriggerWake) bool {
	for _, other := range t.Wakes {
		if other.ID == w.ID {
			return true
		}
	}
	return false
}

// repeats reports whether a text is stored already. The error is that of another text with its id.
func repeats(w ledger.TriggerWake, rows ...[]ledger.Trigger) (bool, error) {
	for _, some := range rows {
		for _, t := range some {
			for _, other := range t.Wakes {
				switch {
				case other.ID != w.ID:
				case other.Text != w.Text, other.Label != w.Label:
					return false, ErrOtherWake
				default:
					return true, nil
				}
			}
		}
	}
	return false, nil
}

// roomFor refuses a text above its author's bounds. Each author has bounds of their own, so that nobody learns from them what others do.
func roomFor(w ledger.TriggerWake, waiting []ledger.TriggerWake) error {
	number, size := 1, len(w.Text)
	for _, other := range waiting {
		if other.From.ID == w.From.ID {
			number++
			size += len(other.Text)
		}
	}
	switch {
	case number > WakesMax:
		return &request.Error{Field: "text", Text: fmt.Sprintf("%d of your texts wait for the next heartbeat, the maximum is %d: wait for it, or use the mode now", number-1, WakesMax)}
	case size > WakeBytesMax:
		return &request.Error{Field: "text", Text: fmt.Sprintf("your texts for the next heartbeat would have %d bytes, the maximum is %d: shorten it, wait for the heartbeat, or use the mode now", size, WakeBytesMax)}
	}
	return nil
}
