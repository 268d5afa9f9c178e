package job

import (
	"context"
	"fmt"
	"time"

	"sluice/router/ledger"
	"sluice/sessions"
)

// Overlap says what happens to an instant while the run of an earlier one works.
type Overlap string

// The kinds of overlap.
const (
	OverlapSkip   Overlap = "skip"   // the instant is skipped; the default
	OverlapQueue  Overlap = "queue"  // it waits for the end of the run; further ones are skipped
	OverlapCancel Overlap = "cancel" // the run is ended
)

// overlapLook and overlapLast bound the pauses in which a queued instant looks whether the run before it has ended.
const (
	overlapLook = 2 * time.Second
	overlapLast = time.Minute
)

// overlapPause is the pause before the next look. It is as long as the instant has waited.
func overlapPause(instant, now time.Time) time.Duration {
	return min(max(now.Sub(instant), overlapLook), overlapLast)
}

// clash is what the earlier run of a job means for an instant.
type clash struct {
	skip  string // why the instant is skipped
	queue bool   // the instant waits
	// withdrawn is the earlier trigger, if the instant ends its run or its retry.
	withdrawn []ledger.Trigger
	interrupt []sessions.Interrupt
}

// clashes decides about an instant. The trigger before it is open, or nil.
func (j *Job) clashes(t, before *ledger.Trigger, now time.Time) clash {
	switch {
	case before == nil:
		return clash{}
	case before.Queued:
		return clash{skip: "the instant before it is still queued"}
	case j.Overlap == OverlapQueue, before.Superseded:
		return clash{queue: true}
	case j.Overlap != OverlapCancel:
		return clash{skip: "the run before it has not ended"}
	}
	b := *before
	b.Revision, b.Epoch = b.Revision+1, t.Epoch
	if b.Status == ledger.TriggerWaiting { // for its retry
		b.Status, b.Why, b.Ended = ledger.TriggerSkipped, superseded, now
		return clash{withdrawn: []ledger.Trigger{b}}
	}
	b.Superseded, b.Due = true, now.Add(overlapLook)
	return clash{queue: true, withdrawn: []ledger.Trigger{b}, interrupt: []sessions.Interrupt{{Session: b.Session, Run: b.Run}}}
}

const superseded = "the next instant has replaced it"

// before is the trigger whose run has to end before a trigger's run begins, or nil.
func (s *Source) before(ctx context.Context, t *ledger.Trigger) (*ledger.Trigger, error) {
	if t.Before == "" {
		return nil, nil
	}
	found, err := s.Store.TriggersOf(ctx, []string{t.Before})
	if err != nil {
		return nil, fmt.Errorf("read the trigger before: %w", err)
	}
	for i := range found {
		if s := found[i].Status; s == ledger.TriggerRunning || s == ledger.TriggerWaiting {
			return &found[i], nil
		}
	}
	return nil, nil
}
