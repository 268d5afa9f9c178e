package work

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/internal/faultpoint"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/router/queue"
	"sluice/sessions"
)

// steering creates the inbox of each run.
type steering struct {
	store    Store
	intake   *intake
	settings func() *place.Settings
	now      func() time.Time
	steered  prometheus.Counter
}

// inbox gives a run the messages that arrive while it works. A message joins the run's batch in the same transaction
// as the thread: after a crash it belongs to the resumed run, and a message that the run did not get waits for its
// own turn.
type inbox struct {
	with *steering
	job  *job
	run  *sessions.Run
	// refused are the messages, by their first run, that the monitor has not let in: they wait for their own turn.
	refused map[sessions.RunID]bool
}

var _ Inbox = (*inbox)(nil)

// of creates the inbox of a run; nil for a step of an exchange.
func (s *steering) of(j *job, run *sessions.Run) Inbox {
	if queue.Alone(*run) {
		return nil
	}
	return &inbox{with: s, job: j, run: run, refused: map[sessions.RunID]bool{}}
}

// Waiting implements [Inbox].
func (b *inbox) Waiting(ctx context.Context) (bool, error) {
	said, err := b.look(ctx)
	return len(said) > 0, err
}

// Take implements [Inbox]. Before each completion it mostly finds nothing, and then it must use little stack: the run
// is about to wait for its model, with a stack that has grown.
func (b *inbox) Take(ctx context.Context) (bool, error) {
	said, err := b.look(ctx)
	if err != nil || len(said) == 0 {
		return false, err
	}
	return b.join(ctx, said)
}

// join adds messages to the thread and their runs to the batch. It reports whether there were any that the run may get.
func (b *inbox) join(ctx context.Context, said [][]sessions.Run) (bool, error) {
	session := b.job.session
	if err := session.Persist(ctx); err != nil { // a result must not be lost if a later step fails
		return false, err
	}
	var media []ledger.Media
	var taken []sessions.Run
	steered := 0
	space := b.with.intake.quotas.Of(b.job.id)
	for _, message := range said {
		whole := queue.Joined(message)
		got := b.with.intake.files(ctx, session, &whole, space)
		if err := b.with.intake.admitText(session, &whole, got.Texts); err != nil {
			b.refused[message[0].ID] = true // it fails in its own turn, which tells its sender
			continue
		}
		media = append(media, got.Media...)
		session.Append(userMessage(whole, got.Texts))
		taken = append(taken, message...)
		steered++
	}
	if steered == 0 {
		return false, nil
	}
	change := session.Pending()
	change.Runs = b.claim(taken)
	faultpoint.Hit(faultpoint.ClaimBeforeCommit)
	if err := b.with.store.Commit(ctx, ledger.Change{Change: change, Media: media}); err != nil {
		return false, fmt.Errorf("add messages to run: %w", err)
	}
	faultpoint.Hit(faultpoint.ClaimAfterCommit)
	session.Saved(change)
	b.job.batch = append(b.job.batch, taken...)
	b.job.speak(b.run)
	b.with.steered.Add(float64(steered))
	return true, nil
}

// claim moves runs into the batch of the current run.
func (b *inbox) claim(taken []sessions.Run) []sessions.RunMove {
	moves := make([]sessions.RunMove, len(taken))
	for i := range taken {
		run := &taken[i]
		run.Status, run.Leader, run.Epoch, run.Started = sessions.RunRunning, b.job.batch[0].ID, b.job.lane.Epoch(), b.with.now()
		run.Attempts++
		moves[i] = sessions.RunMove{From: sessions.RunQueued, Run: *run}
	}
	return moves
}

// look reads the messages that wait for the run. It reads the store only if the session was woken since the last look
// that found nothing.
func (b *inbox) look(ctx context.Context) ([][]sessions.Run, error) {
	if !b.job.lane.Heard() {
		return nil, nil
	}
	return b.read(ctx)
}

func (b *inbox) read(ctx context.Context) ([][]sessions.Run, error) {
	record, err := b.with.store.Session(ctx, b.job.id)
	if err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
	if b.with.settings().QueueMode(record) != sessions.QueueSteer {
		return nil, nil
	}
	waiting, err := b.with.store.WaitingRuns(ctx, b.job.id, queue.MaxWaiting)
	if err != nil {
		return nil, fmt.Errorf("read queue: %w", err)
	}
	said, waits := steerable(waiting, *b.run, b.refused, b.with.now())
	if waits {
		b.job.lane.Hear() // look again until the message is complete
	}
	return said, nil
}

// steerable chooses which of the waiting messages join a run now; waits reports whether a message for the run is
// there, complete or not. Messages behind a command wait for the command, and messages of another audience get their
// own turn.
func steerable(waiting []sessions.Run, run sessions.Run, refused map[sessions.RunID]bool, now time.Time) (said [][]sessions.Run, waits bool) {
	queued := queue.Queued(waiting)
	if order := slices.IndexFunc(queued, func(other sessions.Run) bool { return other.Input.Order != nil }); order >= 0 {
		queued = queued[:order]
	}
	queued = slices.DeleteFunc(queued, queue.NeverBatched)
	for _, message := range queue.Messages(queued) {
		if refused[message[0].ID] || !queue.SameAudience(message[0].Route, run.Route) {
			continue
		}
		waits = true
		if queue.WaitForMore(message, now) > 0 {
			break
		}
		said = append(said, message)
	}
	return said, waits
}
