package router

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/router/queue"
	"sluice/router/request"
	"sluice/router/speech"
	"sluice/sessions"
)

// makeRoom looks at what already waits in the session before a run is added to
// it. It either changes the change so that there is room, or returns what became of the event instead.
func (r *Router) makeRoom(ctx context.Context, s *place.Settings, in Admission, record sessions.Record, change *ledger.Change) (*Admitted, error) {
	waiting, err := r.store.WaitingRuns(ctx, record.ID, queue.MaxWaiting)
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
		if s.QueueMode(record) == sessions.QueueInterrupt {
			change.Interrupt = append(change.Interrupt, queue.Interrupted(waiting, in.Route)...)
		}
	}
	queued := slices.DeleteFunc(queue.Queued(waiting), queue.Alone)
	if in.Edited {
		return r.replaceEdited(ctx, in, queued, change)
	}
	if s.Queue.Cap == 0 || in.order != nil && !in.order.Do.Answered() || len(queue.Messages(queued)) < s.Queue.Cap || queue.Continues(queued, in.Sender.ID, in.Route.Lane(), r.now()) {
		return nil, nil
	}
	return r.overflow(ctx, s, in, queued, waiting, change)
}

// busyOrRepeat tells a repeated request from one that came while another is worked on.
func (r *Router) busyOrRepeat(ctx context.Context, in Admission) (*Admitted, error) {
	got, err := r.repeated(ctx, in)
	if errors.Is(err, sessions.ErrNotFound) {
		return nil, request.ErrBusy
	}
	return &got, err
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
func (r *Router) overflow(ctx context.Context, s *place.Settings, in Admission, queued, waiting []sessions.Run, change *ledger.Change) (*Admitted, error) {
	if s.Queue.DropNew {
		r.metrics.dropped.WithLabelValues("new").Inc()
		text := fmt.Sprintf("I'm still busy and %d messages are waiting, so I did not accept your last one. Please send it again later.", len(queued))
		got, err := r.answerEvent(ctx, s, in, ledger.OutcomeIgnored, text)
		return &got, err
	}
	said := queue.Messages(queued)
	for _, oldest := range slices.Concat(said[:len(said)-s.Queue.Cap+1]...) {
		oldest.Status, oldest.Error, oldest.Finished = sessions.RunDropped, "the queue was full", r.now()
		change.Runs = append(change.Runs, sessions.RunMove{From: sessions.RunQueued, Run: oldest})
		r.metrics.dropped.WithLabelValues("old").Inc()
	}
	text := fmt.Sprintf("I'm still busy and more than %d messages are waiting. I skip the oldest", s.Queue.Cap)
	if queue.SameAudience(queued[0].Route, in.Route) { // elsewhere nobody may learn what was said there
		text += ", starting with: " + speech.Quote(speech.Text(queued[0].Input))
	} else {
		text += "."
	}
	notice := r.compose.Notice(in.Route, text)
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
