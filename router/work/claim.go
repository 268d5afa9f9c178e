package work

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/internal/faultpoint"
	"sluice/internal/telemetry"
	"sluice/policy/flow"
	"sluice/router/lanes"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/router/queue"
	"sluice/sessions"
)

// job is a batch of runs that are worked together. The first run is the leader.
type job struct {
	session *sessions.Session // nil until it is opened
	record  sessions.Record
	batch   []sessions.Run
	resumed bool // an earlier worker has started the batch

	lane *lanes.Lane // of its session
	id   sessions.ID

	aside time.Duration // how long it waits at most for an approval; 0 if it does not wait

	// spoken is the first run with the speaker of the whole batch: the answer goes to everybody who has spoken so
	// far. Nil before the work starts.
	spoken atomic.Pointer[sessions.Run]
}

// speak sets the speaker of the whole batch on its leading run. A run that is alone speaks for itself.
func (j *job) speak(run *sessions.Run) {
	if len(j.batch) == 1 {
		j.spoken.Store(&j.batch[0])
		return
	}
	queue.SetSpeaker(run, j.batch)
	said := *run
	j.spoken.Store(&said)
}

// claimer starts the next runs.
type claimer struct {
	store    Store
	lanes    Lanes
	agent    Agent
	cache    *sessionCache
	intake   *intake
	shows    *shows
	ends     *finisher
	settings func() *place.Settings
	mayRise  func(record sessions.Record, route sessions.Route, label flow.Label) bool
	now      func() time.Time
	queued   prometheus.Observer // seconds from a run's commit to its start
	traces   traces
}

// claim starts the batch of a job. It returns false if the batch has ended instead, or with an error.
func (c *claimer) claim(ctx context.Context, j *job) (started bool, err error) {
	record, batch := j.record, j.batch
	session, err := c.open(ctx, record)
	if why, ok := errors.AsType[*sessions.WorkError](err); ok {
		return false, c.ends.finishFailed(ctx, j, why)
	}
	if err != nil && (j.lane.Failures() < opensMax || errors.Is(err, sessions.ErrUnavailable) || ctx.Err() != nil) {
		return false, fmt.Errorf("open session: %w", err)
	}
	if err != nil { // the rows can no longer be read, and nobody should wait for ever
		return false, c.ends.finishFailed(ctx, j, asWorkError(fmt.Errorf("open session: %w", err)))
	}
	j.session = session
	if batch[0].Kind == sessions.KindNote {
		return false, c.note(ctx, j)
	}
	if limit := c.settings().MaxRunAttempt; limit > 0 && batch[0].Attempts >= limit {
		preview := c.shows.of(ctx, j).close() // of the last attempt
		return false, c.ends.finishFailed(ctx, j, &sessions.WorkError{
			Status: sessions.RunFailed,
			Public: "I could not finish this. My process stopped at every attempt, so I have given up on that message.",
			Err:    fmt.Errorf("run was started %d times and never finished", batch[0].Attempts),
		}, preview...)
	}
	err = c.start(ctx, j)
	if why, ok := errors.AsType[*sessions.WorkError](err); ok {
		return false, c.ends.finishFailed(ctx, j, why)
	}
	return err == nil && len(j.batch) > 0, err
}

// open takes the session from the cache. It reloads a session that somebody else has stored since, or in which work was
// broken off: such work leaves no trace in memory.
func (c *claimer) open(ctx context.Context, record sessions.Record) (*sessions.Session, error) {
	if s, ok := c.cache.get(record.ID); ok && s.Record().Model == record.Model {
		if s.Record().Revision != record.Revision || s.Dirty() {
			if err := s.Reload(ctx, true); err != nil && !errors.Is(err, sessions.ErrStepBusy) {
				return nil, err
			}
		}
		if isStored(s, record) {
			s.Adopt(record)
			return s, nil
		}
	}
	s, err := c.agent.Open(ctx, record)
	if err != nil {
		return nil, err
	}
	c.cache.put(record.ID, s)
	return s, nil
}

// start marks the batch as running and stores its messages, in one transaction. A refused message ends in the same
// transaction, and the rest of the batch continues without it.
func (c *claimer) start(ctx context.Context, j *job) error {
	b, err := c.admit(ctx, j)
	if err != nil {
		return err
	}
	now := c.now()
	moves := make([]sessions.RunMove, len(b.runs))
	for i := range b.runs {
		run := &b.runs[i]
		from := run.Status
		run.Status, run.Epoch, run.Started = sessions.RunRunning, j.lane.Epoch(), now
		run.Attempts++
		if i > 0 {
			run.Leader = b.runs[0].ID
		}
		moves[i] = sessions.RunMove{From: from, Run: *run}
	}
	change := ledger.Change{Change: j.session.Pending(), Media: b.media}
	change.Runs = moves
	for _, r := range b.refused {
		c.refuse(&change, j, r)
	}
	faultpoint.Hit(faultpoint.ClaimBeforeCommit)
	if err := c.lanes.Commit(ctx, change); err != nil {
		return fmt.Errorf("start run: %w", err)
	}
	j.session.Saved(change.Change)
	faultpoint.Hit(faultpoint.ClaimAfterCommit)
	for _, r := range b.refused {
		c.ends.runs.WithLabelValues(string(r.why.Status)).Inc()
		c.ends.emitEnd(r.runs, sessions.Event{Type: sessions.EventFailed, Text: r.why.Public, Label: taintOf(j)})
	}
	if j.batch = b.runs; len(j.batch) > 0 {
		telemetry.Observe(c.queued, now.Sub(j.batch[0].Accepted).Seconds(), c.traces.waited(j.batch))
	}
	return nil
}

// admittedBatch lists the runs of a batch that are worked, and the refused messages.
type admittedBatch struct {
	runs    []sessions.Run
	media   []ledger.Media
	refused []refusedMessage
}

// refusedMessage is a message that the monitor refuses.
type refusedMessage struct {
	runs []sessions.Run
	why  *sessions.WorkError
}

// admit adds the new messages of a batch to the thread, in memory. It fails if the batch is a single refused message.
func (c *claimer) admit(ctx context.Context, j *job) (admittedBatch, error) {
	said := queue.Messages(j.batch)
	b := admittedBatch{runs: j.batch}
	space := c.intake.quotas.Of(j.id)
	for _, message := range said {
		if message[0].Status != sessions.RunRunning && !j.session.HasRun(message[0].ID) { // else an earlier worker has brought it in
			whole := queue.Joined(message)
			c.intake.readThread(ctx, &whole)
			got := c.intake.files(ctx, j.session, &whole, space)
			err := c.intake.admitText(j.session, &whole, got.Texts)
			if err != nil && len(said) == 1 {
				return b, err
			}
			if err != nil {
				b.refused = append(b.refused, refusedMessage{message, asWorkError(err)})
				b.runs = slices.DeleteFunc(slices.Clone(b.runs), func(run sessions.Run) bool {
					return slices.ContainsFunc(message, func(other sessions.Run) bool { return other.ID == run.ID })
				})
				continue
			}
			if err := appendInput(ctx, j.session, whole, got.Texts); err != nil {
				return b, err
			}
			b.media = append(b.media, got.Media...)
		}
	}
	return b, nil
}

// refuse adds the end of a refused message, with a notice to its sender.
func (c *claimer) refuse(change *ledger.Change, j *job, r refusedMessage) {
	c.ends.fail(change, j, r.runs, r.why)
	if last := r.runs[len(r.runs)-1]; !last.Route.IsZero() {
		change.Deliver = append(change.Deliver, c.ends.reply(last, ledger.KindNotice, r.why.Public, ledger.NoticeLabel()))
	}
}
