package router

import (
	"context"
	"fmt"
	"slices"

	"sluice/internal/faultpoint"
	"sluice/router/ledger"
	"sluice/router/queue"
	"sluice/sessions"
)

// inbox gives a run what people say to its session while it works. What it gives
// joins the run's batch in the same transaction as its message joins the thread: after a
// crash it is a part of the run that is gone on with, and whatever was not given waits for its own turn.
type inbox struct {
	w   *sessionWorker
	job *job
	run *sessions.Run // as the agent has it
	// refused are the messages, by their first run, that the monitor has not let in: they wait for their own turn.
	refused map[sessions.RunID]bool
}

var _ Inbox = (*inbox)(nil)

// inboxOf is the inbox of a run; nil for what agents say to each other.
func (w *sessionWorker) inboxOf(j *job, run *sessions.Run) Inbox {
	if queue.Alone(*run) {
		return nil
	}
	return &inbox{w: w, job: j, run: run, refused: map[sessions.RunID]bool{}}
}

// Waiting implements [Inbox].
func (b *inbox) Waiting(ctx context.Context) (bool, error) {
	said, err := b.look(ctx)
	return len(said) > 0, err
}

// Take implements [Inbox].
func (b *inbox) Take(ctx context.Context) (bool, error) {
	said, err := b.look(ctx)
	if err != nil || len(said) == 0 {
		return false, err
	}
	session := b.job.session
	if err := session.Persist(ctx); err != nil { // a result must not be lost if what follows fails
		return false, err
	}
	var media []ledger.Media
	var taken []sessions.Run
	steered := 0
	room := b.w.room.Of(b.w.id)
	for _, message := range said {
		whole := queue.Joined(message)
		got := b.w.fetch(ctx, &whole, room)
		if err := b.w.admitText(session, &whole, got.texts); err != nil {
			b.refused[message[0].ID] = true // it fails in its own turn, where its sender is told so
			continue
		}
		media = append(media, got.media...)
		session.Append(userMessage(whole, got.texts))
		taken = append(taken, message...)
		steered++
	}
	if steered == 0 {
		return false, nil
	}
	change := session.Pending()
	change.Runs = b.claim(taken)
	faultpoint.Hit(faultpoint.ClaimBeforeCommit)
	if err := b.w.store.Commit(ctx, ledger.Change{Change: change, Media: media}); err != nil {
		return false, fmt.Errorf("give run what was said: %w", err)
	}
	faultpoint.Hit(faultpoint.ClaimAfterCommit)
	session.Saved(change)
	b.job.batch = append(b.job.batch, taken...)
	b.job.speak(b.run)
	b.w.metrics.steered.Add(float64(steered))
	return true, nil
}

// claim moves runs into the batch of the run that works.
func (b *inbox) claim(taken []sessions.Run) []sessions.RunMove {
	moves := make([]sessions.RunMove, len(taken))
	for i := range taken {
		run := &taken[i]
		run.Status, run.Leader, run.Epoch, run.Started = sessions.RunRunning, b.job.batch[0].ID, b.w.lane.Epoch(), b.w.now()
		run.Attempts++
		moves[i] = sessions.RunMove{From: sessions.RunQueued, Run: *run}
	}
	return moves
}

// look reads the messages that wait for the run. It asks the store only when
// somebody has woken the session since it last found nothing.
func (b *inbox) look(ctx context.Context) ([][]sessions.Run, error) {
	if !b.w.lane.Heard() {
		return nil, nil
	}
	record, err := b.w.store.Session(ctx, b.w.id)
	if err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
	if b.w.settings.Load().QueueMode(record) != sessions.QueueSteer {
		return nil, nil
	}
	waiting, err := b.w.store.WaitingRuns(ctx, b.w.id, queue.MaxWaiting)
	if err != nil {
		return nil, fmt.Errorf("read queue: %w", err)
	}
	queued := queue.Queued(waiting)
	if order := slices.IndexFunc(queued, func(run sessions.Run) bool { return run.Input.Order != nil }); order >= 0 {
		queued = queued[:order] // what was said behind a command is for the time after it
	}
	queued = slices.DeleteFunc(queued, queue.Unmerged)
	var said [][]sessions.Run
	for _, message := range queue.Messages(queued) {
		if b.refused[message[0].ID] || !queue.SameAudience(message[0].Route, b.run.Route) {
			continue
		}
		b.w.lane.Hear() // it is there until it is taken
		if queue.StillOpen(message, b.w.now()) > 0 {
			break
		}
		said = append(said, message)
	}
	return said, nil
}
