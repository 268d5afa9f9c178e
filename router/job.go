package router

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"sluice/internal/faultpoint"
	"sluice/router/lanes"
	"sluice/router/ledger"
	"sluice/router/queue"
	"sluice/sessions"
)

// job is a batch of runs that has been started, the first of which leads.
type job struct {
	session *sessions.Session // nil while it could not be opened
	record  sessions.Record
	batch   []sessions.Run
	resumed bool // a worker before this one has started it

	aside time.Duration // how long it waits at most, laid aside for an approval; 0 if it does not

	// spoken is the first run as all those have it who have spoken by now: what is shown of the answer is shown to them. Nil before the work begins.
	spoken atomic.Pointer[sessions.Run]
}

// speak gives the run that leads the batch the speaker of it all.
func (j *job) speak(run *sessions.Run) {
	queue.SpeakFor(run, j.batch)
	said := *run
	j.spoken.Store(&said)
}

// claim starts a batch of runs. The job is nil if the batch has ended instead, or on an error.
func (w *sessionWorker) claim(ctx context.Context, record sessions.Record, batch []sessions.Run) (*job, error) {
	j := &job{record: record, batch: batch, resumed: batch[0].Status == sessions.RunRunning}
	session, err := w.open(ctx, record)
	if why, ok := errors.AsType[*sessions.WorkError](err); ok {
		return nil, w.finishFailed(ctx, j, why)
	}
	if err != nil && (w.lane.Failures() < opensMost || errors.Is(err, sessions.ErrUnavailable) || ctx.Err() != nil) {
		return nil, fmt.Errorf("open session: %w", err)
	}
	if err != nil { // rows that can't be read any more: who waits must not wait for ever
		return nil, w.finishFailed(ctx, j, asWorkError(fmt.Errorf("open session: %w", err)))
	}
	j.session = session
	if batch[0].Kind == sessions.KindNote {
		return nil, w.note(ctx, record, session, batch[0])
	}
	if limit := w.settings.Load().MaxRunAttempt; limit > 0 && batch[0].Attempts >= limit {
		preview := w.newShow(ctx, j).close() // of the last try
		return nil, w.finishFailed(ctx, j, &sessions.WorkError{
			Status: sessions.RunFailed,
			Public: "I could not finish this: my process ended each time I tried. I have given up on that message.",
			Err:    fmt.Errorf("run was started %d times and never ended", batch[0].Attempts),
		}, preview...)
	}
	err = w.start(ctx, j)
	if why, ok := errors.AsType[*sessions.WorkError](err); ok {
		return nil, w.finishFailed(ctx, j, why)
	}
	if len(j.batch) == 0 {
		return nil, err
	}
	return j, err
}

// open gives the session from the cache, if nobody wrote to it since and all of it
// is stored: work that was broken off, however it ended, leaves no trace in memory.
func (w *sessionWorker) open(ctx context.Context, record sessions.Record) (*sessions.Session, error) {
	if s, ok := w.cache.get(record.ID); ok {
		if cached := s.Record(); cached.Revision == record.Revision && cached.Model == record.Model && !s.Dirty() {
			s.Adopt(record)
			return s, nil
		}
	}
	s, err := w.agent.Open(ctx, record)
	if err != nil {
		return nil, err
	}
	w.cache.put(record.ID, s)
	return s, nil
}

// start marks the batch as running and stores its messages, in one transaction. A message that is not let in
// ends in it alone, and leaves the batch to those that have come with it.
func (w *sessionWorker) start(ctx context.Context, j *job) error {
	b, err := w.letIn(ctx, j)
	if err != nil {
		return err
	}
	now := w.now()
	moves := make([]sessions.RunMove, len(b.runs))
	for i := range b.runs {
		run := &b.runs[i]
		from := run.Status
		run.Status, run.Epoch, run.Started = sessions.RunRunning, w.lane.Epoch(), now
		run.Attempts++
		if i > 0 {
			run.Leader = b.runs[0].ID
		}
		moves[i] = sessions.RunMove{From: from, Run: *run}
	}
	change := ledger.Change{Change: j.session.Pending(), Media: b.media}
	change.Runs = moves
	for _, r := range b.refused {
		w.refuse(&change, j, r)
	}
	faultpoint.Hit(faultpoint.ClaimBeforeCommit)
	if err := w.lanes.Commit(ctx, change); err != nil {
		return fmt.Errorf("start run: %w", err)
	}
	j.session.Saved(change.Change)
	faultpoint.Hit(faultpoint.ClaimAfterCommit)
	for _, r := range b.refused {
		w.metrics.runs.WithLabelValues(string(r.why.Status)).Inc()
		w.emitEnd(r.runs, sessions.Event{Type: sessions.EventFailed, Text: r.why.Public, Label: taintOf(j)})
	}
	if j.batch = b.runs; len(j.batch) > 0 {
		w.metrics.queueSeconds.Observe(now.Sub(j.batch[0].Accepted).Seconds())
	}
	return nil
}

// letInBatch is what of a batch is worked, and what is not.
type letInBatch struct {
	runs    []sessions.Run
	media   []ledger.Media
	refused []refusedMessage
}

// refusedMessage is one that the monitor does not let in.
type refusedMessage struct {
	runs []sessions.Run
	why  *sessions.WorkError
}

// letIn brings the messages of a batch into the thread, in memory, that are not there yet. It fails
// where the batch is one message and that is not let in.
func (w *sessionWorker) letIn(ctx context.Context, j *job) (letInBatch, error) {
	known := map[sessions.RunID]bool{}
	for _, m := range j.session.Messages() { // of a worker before this one
		known[m.Run] = true
	}
	said := queue.Messages(j.batch)
	b := letInBatch{runs: j.batch}
	room := w.room.Of(w.id)
	for _, message := range said {
		if message[0].Status != sessions.RunRunning && !known[message[0].ID] {
			whole := queue.Joined(message)
			w.readThread(ctx, &whole)
			got := w.fetch(ctx, &whole, room)
			err := w.admitText(j.session, &whole, got.texts)
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
			if err := takeUp(ctx, j.session, whole, got.texts); err != nil {
				return b, err
			}
			b.media = append(b.media, got.media...)
		}
	}
	return b, nil
}

// refuse adds the end of a message that is not let in, and that its sender is told so.
func (w *sessionWorker) refuse(change *ledger.Change, j *job, r refusedMessage) {
	w.fail(change, j, r.runs, r.why)
	if last := r.runs[len(r.runs)-1]; !last.Route.IsZero() {
		change.Deliver = append(change.Deliver, w.reply(last, ledger.KindNotice, r.why.Public, ledger.NoticeLabel()))
	}
}

// drive lets the agent work and stores how it ended. Most of a run's time, and so
// most of the goroutines of a busy gateway, is spent here: what it needs is
// passed by reference, to keep the stack small.
func (w *sessionWorker) drive(ctx context.Context, j *job) error {
	leader := j.batch[0] // a copy: the batch may grow
	run := &leader
	j.speak(run)
	runCtx, cancel := w.runContext(ctx, run)
	defer cancel(nil)
	if err := w.abortedBefore(ctx, j, cancel); err != nil {
		return err
	}
	show := w.newShow(ctx, j)
	whole := false
	defer func() {
		if !whole { // a panic: nobody types any more
			w.lane.EndRun()
			show.close()
		}
	}()
	show.begin()
	answer, err := Answer{}, context.Cause(runCtx)
	if err == nil {
		answer, err = w.perform(runCtx, Assignment{Session: j.session, Run: run, Emit: show.emit, Inbox: w.inboxOf(j, run), Approver: &approver{w, j, run}})
	}
	w.lane.EndRun()
	err = w.conclude(ctx, runCtx, j, answer, err, show)
	whole = true
	return err
}

// conclude stores what the agent's work has come to.
func (w *sessionWorker) conclude(ctx, runCtx context.Context, j *job, answer Answer, err error, show *show) error {
	preview := show.close()
	if ctx.Err() != nil {
		return w.handBack(j.batch, context.Cause(ctx))
	}
	if errors.Is(err, ErrAwaited) && runCtx.Err() == nil {
		return w.layAside(j)
	}
	if isStale(err) && runCtx.Err() == nil {
		return fmt.Errorf("work run: %w", err) // it is gone on with as it is stored, once the store is back
	}
	w.metrics.runSeconds.Observe(w.now().Sub(j.batch[0].Started).Seconds())
	if err != nil {
		return w.finishFailed(ctx, j, w.workError(runCtx, err), preview...)
	}
	return w.finish(ctx, j.session, j.batch, answer, show, preview)
}

// isStale reports whether an error says that the work can't go on with what is in memory.
func isStale(err error) bool {
	return errors.Is(err, sessions.ErrUnavailable) || errors.Is(err, sessions.ErrConflict) || errors.Is(err, sessions.ErrFenced)
}

// abortedBefore cancels a run that somebody has stopped when nobody listened: before
// its last worker's end, or between its start and now.
func (w *sessionWorker) abortedBefore(ctx context.Context, j *job, cancel context.CancelCauseFunc) error {
	asked := w.lane.AbortAsked()
	if !asked && !j.resumed && j.batch[0].Exchange == "" { // a step may have been stopped while it waited
		return nil
	}
	by, err := w.store.AbortRequested(ctx, j.batch[0].ID)
	if cause := lanes.AbortCause(by); cause != nil {
		cancel(cause)
	}
	if err != nil {
		w.lane.EndRun()
		return fmt.Errorf("look for an abort: %w", err)
	}
	return nil
}

// runContext is a run's context: it ends with the partition, with the run's own deadline, or when somebody stops it.
func (w *sessionWorker) runContext(ctx context.Context, run *sessions.Run) (context.Context, context.CancelCauseFunc) {
	timeout := cmp.Or(run.Timeout, w.settings.Load().RunTimeout)
	stop := context.CancelFunc(func() {})
	if timeout > 0 {
		ctx, stop = context.WithTimeout(ctx, timeout)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	w.lane.BeginRun(run.ID, cancel)
	return ctx, func(cause error) { cancel(cause); stop() }
}

// workError says how a failed run ended, as a run's status and a sentence.
func (w *sessionWorker) workError(ctx context.Context, err error) *sessions.WorkError {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, lanes.ErrStopped):
		return &sessions.WorkError{Status: sessions.RunAborted, Public: "Stopped.", Err: lanes.ErrStopped}
	case errors.Is(cause, lanes.ErrReplaced):
		return &sessions.WorkError{Status: sessions.RunAborted, Public: "Replaced by a newer message.", Err: lanes.ErrReplaced}
	}
	return asWorkError(err)
}

func asWorkError(err error) *sessions.WorkError {
	if known, ok := errors.AsType[*sessions.WorkError](err); ok {
		return known
	}
	return &sessions.WorkError{
		Status: sessions.RunFailed, Err: err,
		Public: "Something went wrong on my side, and I could not answer. My owner can see why with `sluice runs list --status failed`.",
	}
}
