package inbound

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/router/queue"
	"sluice/router/request"
	"sluice/router/usertext"
	"sluice/sessions"
)

// makeRoom checks the queue of the session before a run is added. It either extends the change to make room for the
// run, or returns the event's result.
func (i *Intake) makeRoom(ctx context.Context, s *place.Settings, in Admission, record sessions.Record, change *ledger.Change) (*Admitted, error) {
	waiting, err := i.Store.WaitingRuns(ctx, record.ID, queue.MaxWaiting)
	if err != nil {
		return nil, fmt.Errorf("read queue: %w", err)
	}
	if in.Exclusive && len(waiting) > 0 {
		return i.refusedOrRepeat(ctx, in, request.ErrBusy)
	}
	if in.Exclusive {
		change.Idle = append(change.Idle, record.ID)
	}
	if in.talks() && s.QueueMode(record) == sessions.QueueInterrupt {
		change.Interrupt = append(change.Interrupt, queue.Interrupted(waiting, in.Route)...)
	}
	queued := slices.DeleteFunc(queue.Queued(waiting), queue.Alone)
	if in.Edited {
		return i.replaceEdited(ctx, in, queued, change)
	}
	if in.ordersOnly() || fits(s.Queue.Cap, in, queued, i.Now()) {
		return nil, nil
	}
	if s.Queue.DropNew {
		return i.dropNew(ctx, in, len(queued))
	}
	return nil, i.dropOldest(ctx, s.Queue.Cap, in, line{queued: queued, waiting: waiting}, change)
}

// line has the unfinished runs of a session: all of them, and the messages that have not started.
type line struct{ queued, waiting []sessions.Run }

// fits reports whether a message may join the queue: it has fewer messages than the limit (0: no limit), or the
// message continues the last one.
func fits(limit int, in Admission, queued []sessions.Run, now time.Time) bool {
	return limit == 0 || len(queue.Messages(queued)) < limit || queue.Continues(queued, in.Sender.ID, in.Route.Lane(), now)
}

// skipped are the runs that a full queue drops to make room for one message: all parts of its oldest messages.
func skipped(limit int, queued []sessions.Run) []sessions.Run {
	said := queue.Messages(queued)
	return slices.Concat(said[:len(said)-limit+1]...)
}

// overflowText tells a conversation that the oldest messages are skipped. It quotes the first of them only in the
// conversation of that message.
func overflowText(limit int, first sessions.Run, at sessions.Route) string {
	text := fmt.Sprintf("I'm still busy and more than %d messages are waiting. I'm skipping the oldest", limit)
	if !queue.SameAudience(first.Route, at) {
		return text + "."
	}
	return text + ", starting with: " + usertext.Quote(usertext.Text(first.Input))
}

// refusedOrRepeat distinguishes a repeated request, which gets its first result, from a new one, which is refused.
func (i *Intake) refusedOrRepeat(ctx context.Context, in Admission, refusal error) (*Admitted, error) {
	got, err := i.repeated(ctx, in)
	if errors.Is(err, sessions.ErrNotFound) {
		return nil, refusal
	}
	return &got, err
}

// replaceEdited drops the waiting run of an edited message. An edit that does not change the text (a link preview, a
// reaction) is ignored.
func (i *Intake) replaceEdited(ctx context.Context, in Admission, queued []sessions.Run, change *ledger.Change) (*Admitted, error) {
	for _, q := range queued {
		if q.Input.MessageID == in.MessageID && q.Route.Lane() == in.Route.Lane() {
			if q.Input.Text == in.Text {
				return &Admitted{Outcome: ledger.OutcomeIgnored}, nil
			}
			change.Runs = append(change.Runs, i.unqueued(q, sessions.RunAborted, "replaced by an edit of the message"))
			return nil, nil
		}
	}
	last, err := runOf(ctx, i.Store, in)
	if err != nil || last == nil || last.Input.Text != in.Text {
		return nil, err
	}
	return &Admitted{Outcome: ledger.OutcomeIgnored}, nil
}

// dropNew refuses a message because the queue is full. A caller of the API gets the error; a person in a chat is notified.
func (i *Intake) dropNew(ctx context.Context, in Admission, waiting int) (*Admitted, error) {
	if in.overAPI() {
		got, err := i.refusedOrRepeat(ctx, in, request.ErrQueueFull)
		if errors.Is(err, request.ErrQueueFull) {
			i.Metrics.Dropped.WithLabelValues("new").Inc()
		}
		return got, err
	}
	text := fmt.Sprintf("I'm still busy and %d messages are waiting, so I did not accept your last one. Please send it again later.", waiting)
	got, err := i.answerEvent(ctx, in, ledger.OutcomeIgnored, text)
	if err == nil {
		i.Metrics.Dropped.WithLabelValues("new").Inc()
	}
	return &got, err
}

// dropOldest drops the oldest messages of a full queue. It tells the conversation once per turn.
func (i *Intake) dropOldest(ctx context.Context, limit int, in Admission, l line, change *ledger.Change) error {
	for _, oldest := range skipped(limit, l.queued) {
		change.Runs = append(change.Runs, i.unqueued(oldest, sessions.RunDropped, "the queue was full"))
	}
	notice := i.Composer.Notice(in.Route, overflowText(limit, l.queued[0], in.Route))
	notice.Session, notice.Label = l.queued[0].Session, l.queued[0].Label // the notice quotes this run
	notice.Idempotency = "overflow/" + string(l.waiting[0].ID)
	told, err := i.wasSent(ctx, notice.Idempotency)
	if err != nil {
		return err
	}
	if !told {
		change.Deliver = append(change.Deliver, notice)
	}
	return nil
}

// unqueued ends a queued run before it starts.
func (i *Intake) unqueued(run sessions.Run, status sessions.RunStatus, reason string) sessions.RunMove {
	run.Status, run.Error, run.Finished = status, reason, i.Now()
	return sessions.RunMove{From: sessions.RunQueued, Run: run}
}
