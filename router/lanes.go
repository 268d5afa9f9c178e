package router

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"sluice/router/ledger"
	"sluice/sessions"
)

// errHandback is the cause with which a lane's work is cancelled when its
// partition goes elsewhere: the work is handed back and counts no attempt.
var errHandback = errors.New("the partition is handed over")

// abortPrefix marks a wake that asks a session's worker to look for an abort.
const abortPrefix = "abort|"

// releaseWait is how long the work of a partition may take to end once it is cancelled: the grace of a tool, and a last write.
const releaseWait = 6 * time.Second

// conflictsMost is how many conflicts in a row are only a reason to look again at once; one more is a fault.
const conflictsMost = 4

// rest says what a lane's worker wants after a turn.
type rest struct {
	again bool          // look again at once
	wait  time.Duration // look again after this time; 0: only when woken
	// then is the turn's second half. It waits for long, so it gets a goroutine of
	// its own, whose stack has not grown with the first.
	then func() (rest, error)
}

// ownership is one owned partition: its epoch and its lanes that are at work.
// Each lane with work has one goroutine, which ends when there is none left;
// stop waits for all of them, up to releaseWait.
type ownership struct {
	partition int
	epoch     int64
	ctx       context.Context // ends when the partition is released; its cause tells why
	cancel    context.CancelCauseFunc

	mu     sync.Mutex
	closed bool
	lanes  map[sessions.Lane]*lane
	wg     sync.WaitGroup
}

// lane is the worker of one lane while it has work.
type lane struct {
	dirty bool          // woken since its worker last looked; guarded by ownership.mu
	woken chan struct{} // capacity 1: ends a wait early

	// abort cancels the run that is being worked, if any; guarded by ownership.mu.
	abort context.CancelCauseFunc
	run   sessions.RunID
	// asked: somebody may have asked for an abort while there was nothing to cancel yet; guarded by ownership.mu.
	asked bool
	// heard: woken since the run that works has last looked for what was said to it; guarded by ownership.mu.
	heard bool

	// Of turns, in a row; the worker's own.
	failures  int
	conflicts int
}

func newOwnership(parent context.Context, partition int, epoch int64) *ownership {
	ctx, cancel := context.WithCancelCause(parent)
	return &ownership{partition: partition, epoch: epoch, ctx: ctx, cancel: cancel, lanes: map[sessions.Lane]*lane{}}
}

// stop ends all work of the partition: softly for grace, then by cancelling it. It waits till it ended, but not
// for ever: it reports whether all has ended. What has not writes nothing any more once the partition has its next owner.
func (o *ownership) stop(ctx context.Context, grace time.Duration) (whole bool) {
	o.mu.Lock()
	o.closed = true
	for _, l := range o.lanes {
		l.nudge()
	}
	o.mu.Unlock()
	done := make(chan struct{})
	go func() { // ends with the lanes
		o.wg.Wait()
		close(done)
	}()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-ctx.Done():
	}
	o.cancel(errHandback)
	last := time.NewTimer(releaseWait)
	defer last.Stop()
	select {
	case <-done:
		return true
	case <-last.C:
		return false
	}
}

func (l *lane) nudge() {
	select {
	case l.woken <- struct{}{}:
	default:
	}
}

// wake makes sure that a lane's worker looks at it.
func (r *Router) wakeLane(o *ownership, name sessions.Lane) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	if l, ok := o.lanes[name]; ok {
		l.dirty, l.heard = true, true
		l.nudge()
		return
	}
	l := &lane{woken: make(chan struct{}, 1)}
	o.lanes[name] = l
	o.wg.Add(1)
	go func() {
		defer o.wg.Done()
		turn := r.turn(o, name, l)
		r.workLane(o, name, l, turn, turn)
	}()
}

// workLane is a lane's goroutine: it takes the step, and then turn after turn.
func (r *Router) workLane(o *ownership, name sessions.Lane, l *lane, step, turn func() (rest, error)) {
	for {
		next, err := guarded(step)
		if next.then != nil {
			o.wg.Go(func() { r.workLane(o, name, l, next.then, turn) })
			return
		}
		step = turn
		switch {
		case errors.Is(err, sessions.ErrConflict) && l.conflicts < conflictsMost:
			l.conflicts++
			next = rest{again: true} // somebody else wrote: look again with fresh eyes
		case errors.Is(err, sessions.ErrFenced):
			r.log.Info("partition has moved", "partition", o.partition, "lane", string(name))
			next = rest{}
		case err != nil && o.ctx.Err() == nil:
			l.failures++
			next.wait = backoff(l.failures)
			r.log.Error("lane failed", "lane", string(name), "err", err, "retry_in", next.wait.String())
		case err == nil:
			l.failures, l.conflicts = 0, 0
		}
		if !o.settle(name, l, next) {
			return
		}
	}
}

// settle decides whether the worker goes on, and waits where it should.
func (o *ownership) settle(name sessions.Lane, l *lane, next rest) bool {
	o.mu.Lock()
	if o.closed || o.ctx.Err() != nil || (!l.dirty && !next.again && next.wait == 0) {
		delete(o.lanes, name)
		o.mu.Unlock()
		return false
	}
	looks := l.dirty || next.again
	l.dirty = false
	o.mu.Unlock()
	if looks && next.wait == 0 {
		return true
	}
	timer := time.NewTimer(next.wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.woken:
	case <-o.ctx.Done():
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		delete(o.lanes, name)
	}
	return !o.closed
}

// turn is the function that works one turn of a lane. It keeps what one worker knows between its turns.
func (r *Router) turn(o *ownership, name sessions.Lane, l *lane) func() (rest, error) {
	if id, err := sessions.ParseID(string(name)); err == nil {
		w := &sessionWorker{Router: r, owner: o, lane: l, id: id}
		return w.turn
	}
	w := &outboxWorker{Router: r, owner: o, name: name}
	return w.turn
}

// guarded turns a panic into an error: one lane's fault stops no other.
func guarded(turn func() (rest, error)) (next rest, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return turn()
}

// backoff is the wait before a lane tries again after n failures in a row.
func backoff(n int) time.Duration {
	const most = 30 * time.Second
	d := 100 * time.Millisecond << min(n, 10)
	return min(d, most)
}

// Acquire implements [Owner].
func (r *Router) Acquire(ctx context.Context, partition int) error {
	epoch, err := r.store.TakePartition(ctx, partition, r.replica)
	if err != nil {
		return fmt.Errorf("take partition %d: %w", partition, err)
	}
	o := newOwnership(ctx, partition, epoch)
	r.ownMu.Lock()
	r.owned[partition] = o
	r.ownMu.Unlock()
	r.metrics.partitions.Inc()
	if err := r.rescan(ctx, o); err != nil {
		r.Release(ctx, partition) // else wakes would end here and not at the next owner
		return err
	}
	return nil
}

// Release implements [Owner].
func (r *Router) Release(ctx context.Context, partition int) {
	r.ownMu.Lock()
	o := r.owned[partition]
	delete(r.owned, partition)
	r.ownMu.Unlock()
	if o == nil {
		return
	}
	r.metrics.partitions.Dec()
	if !o.stop(ctx, r.grace) {
		r.log.Error("partition given back while work goes on that does not look at its context; it writes nothing any more", "partition", partition)
	}
	r.cache.drop(func(record sessions.Record) bool { return record.Partition == partition })
}

// Rescan looks at every lane with work of an owned partition: wakes may have been lost.
func (r *Router) Rescan(partition int) {
	if o := r.owner(partition); o != nil {
		if err := r.rescan(o.ctx, o); err != nil && o.ctx.Err() == nil {
			r.log.Error("partition not rescanned", "partition", partition, "err", err)
		}
	}
}

func (r *Router) rescan(ctx context.Context, o *ownership) error {
	lanes, err := r.store.WaitingLanes(ctx, o.partition)
	if err != nil {
		return fmt.Errorf("list waiting lanes: %w", err)
	}
	for _, name := range lanes {
		r.wakeLane(o, name)
	}
	asked, err := r.store.AbortsRequested(ctx, o.partition)
	if err != nil {
		return fmt.Errorf("list aborts: %w", err)
	}
	for _, id := range asked {
		r.checkAbort(o, sessions.SessionLane(id))
	}
	return nil
}

// Woken implements [Owner].
func (r *Router) Woken(partition int, name sessions.Lane) {
	o := r.owner(partition)
	if o == nil {
		return
	}
	if id, ok := strings.CutPrefix(string(name), abortPrefix); ok {
		r.checkAbort(o, sessions.Lane(id))
		return
	}
	r.wakeLane(o, name)
}

func (r *Router) owner(partition int) *ownership {
	r.ownMu.RLock()
	defer r.ownMu.RUnlock()
	return r.owned[partition]
}

// wake asks a lane's owner to look at it. Where that is this replica the bus has no part in it.
func (r *Router) wake(partition int, name sessions.Lane) {
	if o := r.owner(partition); o != nil {
		r.wakeLane(o, name)
		return
	}
	r.bus.Wake(partition, name)
}

// commit stores a change and wakes whom it concerns.
func (r *Router) commit(ctx context.Context, change ledger.Change) error {
	if err := r.store.Commit(ctx, change); err != nil {
		return err
	}
	r.wakeFor(change)
	return nil
}

// wakeFor wakes whoever may have work after a change: the lanes of its new runs and of its
// deliveries, even one that is discarded, as others wait behind it, and the workers of sessions that it aborts.
func (r *Router) wakeFor(change ledger.Change) {
	for _, run := range change.Enqueue {
		r.wake(run.Partition, sessions.SessionLane(run.Session))
	}
	for _, d := range change.Deliver {
		r.wake(d.Partition, d.Lane)
	}
	for _, m := range change.Deliveries {
		r.wake(m.Delivery.Partition, m.Delivery.Lane)
	}
	for _, i := range change.Interrupt {
		r.wakeAbort(i.Session)
	}
	for _, m := range change.Approvals {
		if m.Approval.Delivery != "" {
			continue // its delivery moves with it
		}
		name := sessions.SessionLane(m.Approval.Session)
		r.wake(name.Partition(r.partitions), name)
	}
	for _, a := range change.Abort {
		r.wakeAbort(a.Session)
	}
}

// wakeAbort asks the owner of a session to look whether its run was asked to end.
func (r *Router) wakeAbort(id sessions.ID) {
	name := sessions.SessionLane(id)
	partition := name.Partition(r.partitions)
	if o := r.owner(partition); o != nil {
		r.checkAbort(o, name)
		return
	}
	r.bus.Wake(partition, abortPrefix+name)
}

// checkAbort cancels the run of a session's worker if the store says so. Its goroutine is one of the partition's.
func (r *Router) checkAbort(o *ownership, name sessions.Lane) {
	o.mu.Lock()
	defer o.mu.Unlock()
	l, ok := o.lanes[name]
	if !ok || o.closed {
		return
	}
	if l.abort == nil {
		l.asked, l.dirty = true, true // a run may be about to start, or is laid aside
		l.nudge()
		return
	}
	run, abort := l.run, l.abort
	o.wg.Add(1)
	go func() {
		defer o.wg.Done()
		asked, err := r.store.AbortRequested(o.ctx, run)
		if err != nil && o.ctx.Err() == nil {
			r.log.Error("abort not read", "run", string(run), "err", err)
		}
		if cause := abortCause(asked); cause != nil {
			abort(cause)
		}
	}()
}
