package router

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sluice/router/ledger"
	"sluice/sessions"
)

// waitingMax is how many unfinished runs of one session are read at a time; a
// configured cap is never above it.
const waitingMax = 200

// makeRoom looks at what already waits in the session before a run is added to
// it. It either changes the change so that there is room, or returns what became of the event instead.
func (r *Router) makeRoom(ctx context.Context, s *Settings, in Admission, record sessions.Record, change *ledger.Change) (*Admitted, error) {
	waiting, err := r.store.WaitingRuns(ctx, record.ID, waitingMax)
	if err != nil {
		return nil, fmt.Errorf("read queue: %w", err)
	}
	if in.Exclusive && len(waiting) > 0 {
		return r.busyOrRepeat(ctx, in)
	}
	if in.Exclusive {
		change.Idle = append(change.Idle, record.ID)
	}
	if in.order == nil || in.order.Do == sessions.OrderEdit {
		s.interrupt(record, in, waiting, change)
	}
	queued := slices.DeleteFunc(queuedRuns(waiting), workedAlone)
	if in.Edited {
		return r.replaceEdited(ctx, in, queued, change)
	}
	if s.Queue.Cap == 0 || in.order != nil && !in.order.Do.Answered() || len(messages(queued)) < s.Queue.Cap || belongs(queued, in, r.now()) {
		return nil, nil
	}
	return r.overflow(ctx, s, in, queued, waiting, change)
}

// busyOrRepeat tells a repeated request from one that came while another is worked on.
func (r *Router) busyOrRepeat(ctx context.Context, in Admission) (*Admitted, error) {
	got, err := r.repeated(ctx, in)
	if errors.Is(err, sessions.ErrNotFound) {
		return nil, ErrBusy
	}
	return &got, err
}

func queuedRuns(waiting []sessions.Run) []sessions.Run {
	var queued []sessions.Run
	for _, w := range waiting {
		if w.Status == sessions.RunQueued {
			queued = append(queued, w)
		}
	}
	return queued
}

// replaceEdited drops the waiting run of the message that was edited. An edit
// that leaves the text as it was (a link preview, a reaction) is ignored.
func (r *Router) replaceEdited(ctx context.Context, in Admission, queued []sessions.Run, change *ledger.Change) (*Admitted, error) {
	for _, q := range queued {
		if q.Input.MessageID == in.MessageID && q.Route.Lane() == in.Route.Lane() {
			if q.Input.Text == in.Text {
				return &Admitted{Outcome: ledger.OutcomeIgnored}, nil
			}
			old := q
			old.Status, old.Error, old.Finished = sessions.RunAborted, "replaced by an edit of the message", r.now()
			change.Runs = append(change.Runs, sessions.RunMove{From: sessions.RunQueued, Run: old})
			return nil, nil
		}
	}
	last, err := r.runOf(ctx, in)
	if err != nil || last == nil || last.Input.Text != in.Text {
		return nil, err
	}
	return &Admitted{Outcome: ledger.OutcomeIgnored}, nil
}

// overflow drops a message, as configured the oldest that waits or the new one,
// and tells the conversation once for each turn that holds the queue up.
func (r *Router) overflow(ctx context.Context, s *Settings, in Admission, queued, waiting []sessions.Run, change *ledger.Change) (*Admitted, error) {
	if s.Queue.DropNew {
		r.metrics.dropped.WithLabelValues("new").Inc()
		text := fmt.Sprintf("I am still busy and %d messages wait already. I did not take your last one; please send it again later.", len(queued))
		got, err := r.answerEvent(ctx, s, in, ledger.OutcomeIgnored, text)
		return &got, err
	}
	said := messages(queued)
	for _, oldest := range slices.Concat(said[:len(said)-s.Queue.Cap+1]...) {
		oldest.Status, oldest.Error, oldest.Finished = sessions.RunDropped, "the queue was full", r.now()
		change.Runs = append(change.Runs, sessions.RunMove{From: sessions.RunQueued, Run: oldest})
		r.metrics.dropped.WithLabelValues("old").Inc()
	}
	text := fmt.Sprintf("I am still busy and more than %d messages wait. I leave out the oldest of them", s.Queue.Cap)
	if sameAudience(queued[0].Route, in.Route) { // else it is nobody's business here what was said there
		text += ", starting with: " + quote(InputText(queued[0].Input))
	} else {
		text += "."
	}
	notice := r.newNotice(s, in.Route, text)
	notice.Session, notice.Label = queued[0].Session, queued[0].Label // it quotes it
	notice.Idempotency = "overflow/" + string(waiting[0].ID)
	_, err := r.store.DeliveryByIdempotency(ctx, notice.Idempotency)
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		change.Deliver = append(change.Deliver, notice)
	case err != nil:
		return nil, fmt.Errorf("read notice: %w", err)
	}
	return nil, nil
}

// quote shortens a text for a notice.
func quote(text string) string {
	const most = 60
	runes := []rune(text)
	if len(runes) > most {
		return "“" + string(runes[:most]) + "…”"
	}
	return "“" + text + "”"
}

// sameAudience reports whether one answer may be given by both routes: what was asked in private is answered alone.
func sameAudience(a, b sessions.Route) bool { return a.Lane() == b.Lane() && a.Handle == b.Handle }

// pick chooses the runs that are worked next, from what waits in a session in
// order. The first is the leader. wait above 0 says to look again later: the
// queue mode wants quiet first. busy tells that a run has just ended here.
func pick(q QueueSettings, waiting []sessions.Run, now time.Time, busy bool) (batch []sessions.Run, wait time.Duration) {
	if len(waiting) == 0 {
		return nil, 0
	}
	if resumed := resumable(waiting); len(resumed) > 0 {
		return resumed, 0
	}
	switch step := slices.IndexFunc(waiting, unmerged); {
	case step == 0:
		return waiting[:1], 0
	case step > 0:
		waiting = waiting[:step]
	}
	said := messages(waiting)
	n := 1
	for together(q.Mode) && n < len(said) && sameAudience(said[n][0].Route, said[0][0].Route) {
		n++
	}
	for _, message := range said[:n] {
		batch = append(batch, message...)
		wait = max(wait, open(message, now))
	}
	if busy && q.Mode == sessions.QueueCollect {
		// A message from the future is none to wait for: a clock was set back.
		if quiet := now.Sub(newest(batch)); quiet >= 0 {
			wait = max(wait, q.Debounce-quiet)
		}
	}
	if wait > 0 {
		return nil, wait
	}
	return batch, 0
}

// together reports whether all that waits becomes one run.
func together(mode sessions.QueueMode) bool {
	return mode == sessions.QueueCollect || mode == sessions.QueueInterrupt
}

// workedAlone reports whether a run is no message of a person: what agents say, and commands.
func workedAlone(run sessions.Run) bool {
	return run.Kind.Step() || run.Kind == sessions.KindNote || run.Kind == sessions.KindCommand
}

// unmerged reports whether a run is worked as a batch of its own: what is worked alone, and what has an order.
func unmerged(run sessions.Run) bool { return workedAlone(run) || run.Input.Order != nil }

// newest is when the last of some runs was accepted.
func newest(runs []sessions.Run) time.Time {
	at := runs[0].Accepted
	for _, run := range runs {
		if run.Accepted.After(at) {
			at = run.Accepted
		}
	}
	return at
}

// resumable is the run that was running when its worker died, and what was merged into it.
func resumable(waiting []sessions.Run) []sessions.Run {
	var batch []sessions.Run
	for _, w := range waiting {
		if w.Status == sessions.RunRunning && w.Leader == "" {
			batch = append(batch, w)
			break
		}
	}
	if batch == nil {
		return nil
	}
	for _, w := range waiting {
		if w.Leader == batch[0].ID {
			batch = append(batch, w)
		}
	}
	return batch
}
