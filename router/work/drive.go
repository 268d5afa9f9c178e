package work

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/internal/aside"
	"sluice/internal/telemetry"
	"sluice/router/lanes"
	"sluice/router/place"
	"sluice/sessions"
)

// driver makes agents work runs.
type driver struct {
	store     Store
	agent     Agent
	orders    *orders
	shows     *shows
	steering  *steering
	approvals Approvals
	ends      *finisher
	settings  func() *place.Settings
	now       func() time.Time
	log       *slog.Logger
	seconds   prometheus.Observer // from a run's start to its end
	traces    traces
}

// drive lets the agent work and stores the result. Most goroutines of a busy gateway spend most of their time here,
// so it passes values by reference to keep the stack small.
func (d *driver) drive(ctx context.Context, j *job) error {
	run := &slices.Clone(j.batch[:1])[0] // a copy: the batch may grow
	j.speak(run)
	runCtx, cancel := d.runContext(ctx, j.lane, run)
	defer cancel(nil)
	if err := d.abortedBefore(ctx, j, cancel); err != nil {
		return err
	}
	var show *show
	aside.Do(func() { show = d.shows.of(ctx, j) })
	whole := false
	defer func() {
		if !whole { // after a panic, typing stops
			j.lane.EndRun()
			show.close()
		}
	}()
	show.begin()
	span := d.traces.begin(j)
	result := &worked{err: context.Cause(runCtx), show: show}
	if result.err == nil {
		a := &Assignment{Session: j.session, Run: run, Emit: show.emit, Inbox: d.steering.of(j, run), Approver: d.approvals.Of(j.session, &j.record, run)}
		d.perform(telemetry.With(runCtx, span), a, result)
	}
	j.lane.EndRun()
	status, err := d.conclude(telemetry.With(ctx, span), runCtx, j, result)
	result.traced(span, status)
	whole = true
	return err
}

// worked is the result of the agent's work.
type worked struct {
	answer *Answer // nil after an error
	err    error
	show   *show
}

// conclude stores the result of the agent's work. The run is still running if it continues later.
func (d *driver) conclude(ctx, runCtx context.Context, j *job, w *worked) (sessions.RunStatus, error) {
	preview, err := w.show.close(), w.err
	if ctx.Err() != nil {
		return sessions.RunRunning, d.ends.handBack(j.batch, context.Cause(ctx))
	}
	if awaited, ok := errors.AsType[*AwaitedError](err); ok && runCtx.Err() == nil {
		j.aside = awaited.AtMost
		d.log.Info("run waits for an approval", "run", string(j.batch[0].ID), "session", string(j.id))
		return sessions.RunRunning, d.ends.handBack(j.batch, awaited)
	}
	if isStale(err) && runCtx.Err() == nil {
		return sessions.RunRunning, fmt.Errorf("work run: %w", err) // it continues from its stored state once the store is available
	}
	telemetry.Observe(d.seconds, d.now().Sub(j.batch[0].Started).Seconds(), telemetry.From(ctx))
	if err != nil {
		why := workError(runCtx, err)
		if why.Status == sessions.RunTimeout && j.record.Key.SubAgent() {
			limit, setting := d.bound(&j.batch[0])
			why = &sessions.WorkError{Status: why.Status, Err: why.Err, Public: fmt.Sprintf("the task did not end within %s (%s)", limit, setting)}
		}
		return why.Status, d.ends.finishFailed(ctx, j, why, preview...)
	}
	return sessions.RunDone, d.ends.finish(ctx, j, answered{*w.answer, preview, w.show})
}

// isStale reports whether an error means that the state in memory is outdated.
func isStale(err error) bool {
	return errors.Is(err, sessions.ErrUnavailable) || errors.Is(err, sessions.ErrConflict) || errors.Is(err, sessions.ErrFenced)
}

// abortedBefore cancels a run that was stopped while nobody was listening: before its last worker ended, or between
// its start and now.
func (d *driver) abortedBefore(ctx context.Context, j *job, cancel context.CancelCauseFunc) error {
	asked := j.lane.AbortAsked()
	if !asked && !j.resumed && j.batch[0].Exchange == "" { // a step may have been stopped while it was queued
		return nil
	}
	by, err := d.store.AbortRequested(ctx, j.batch[0].ID)
	if cause := lanes.AbortCause(by); cause != nil {
		cancel(cause)
	}
	if err != nil {
		j.lane.EndRun()
		return fmt.Errorf("look for an abort: %w", err)
	}
	return nil
}

// bound is how long a run may take, and what says so. 0: as long as it likes.
func (d *driver) bound(run *sessions.Run) (limit time.Duration, setting string) {
	if run.Timeout > 0 {
		return run.Timeout, "runTimeoutSeconds"
	}
	return d.settings().RunTimeout, "session.runTimeout"
}

// runContext is a run's context: it ends with the partition, at the run's deadline, or when somebody stops the run.
func (d *driver) runContext(ctx context.Context, lane *lanes.Lane, run *sessions.Run) (context.Context, context.CancelCauseFunc) {
	timeout, _ := d.bound(run)
	stop := context.CancelFunc(func() {})
	if timeout > 0 {
		ctx, stop = context.WithTimeout(ctx, timeout)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	lane.BeginRun(run.ID, cancel)
	return ctx, func(cause error) { cancel(cause); stop() }
}

// workError describes the failure of a run, as a status and a sentence.
func workError(ctx context.Context, err error) *sessions.WorkError {
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

// perform does a run's work: the agent's work, or a command's order.
func (d *driver) perform(ctx context.Context, a *Assignment, result *worked) {
	if a.Run.Kind == sessions.KindCommand {
		d.obey(ctx, a, result)
		return
	}
	result.answer, result.err = d.agent.Work(ctx, a)
}

// obey carries out the order of a command, with a frame of its own.
//
//go:noinline
func (d *driver) obey(ctx context.Context, a *Assignment, result *worked) {
	var answer Answer
	answer, result.err = d.orders.carryOut(ctx, *a)
	result.answer = &answer
}
