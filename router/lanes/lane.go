package lanes

import (
	"context"
	"errors"
	"sync"
	"time"

	"sluice/sessions"
)

// errHandback is the cause that cancels a lane's work when its partition moves to another replica. The work is handed
// back and the attempt is not counted.
var errHandback = errors.New("the partition was handed over")

// The causes that cancel a run.
var (
	// ErrStopped: somebody stopped it.
	ErrStopped = errors.New("stopped by a person")
	// ErrReplaced: a newer message has arrived and the session's queue mode is interrupt.
	ErrReplaced = errors.New("replaced by a newer message")
)

// AbortCause is the error for an abort request; nil if there is no request.
func AbortCause(asked sessions.AbortCause) error {
	switch asked {
	case sessions.AbortNone:
		return nil
	case sessions.AbortReplaced:
		return ErrReplaced
	}
	return ErrStopped
}

// releaseWait is how long the cancelled work of a partition may take to end: the grace period of a tool, and a last
// write.
const releaseWait = 6 * time.Second

// ownership is one owned partition: its epoch and its active lanes. Each lane with work has one goroutine, which ends
// when no work is left; stop waits for all of them, up to releaseWait.
type ownership struct {
	partition int
	epoch     int64
	ctx       context.Context // ends when the partition is released; the cause says why
	cancel    context.CancelCauseFunc

	mu     sync.Mutex
	closed bool
	lanes  map[sessions.Lane]*Lane
	wg     sync.WaitGroup
}

func newOwnership(parent context.Context, partition int, epoch int64) *ownership {
	ctx, cancel := context.WithCancelCause(parent)
	return &ownership{partition: partition, epoch: epoch, ctx: ctx, cancel: cancel, lanes: map[sessions.Lane]*Lane{}}
}

// open adds a lane, whose goroutine the caller starts. The caller holds mu.
func (o *ownership) open(name sessions.Lane) *Lane {
	lane := &Lane{Name: name, owner: o, woken: make(chan struct{}, 1)}
	o.lanes[name] = lane
	o.wg.Add(1)
	return lane
}

// stop ends all work of the partition: it waits for the grace period, then cancels the work and waits again, for a
// bounded time. It reports whether everything has ended. Work that is still going on can't write once the partition
// has its next owner.
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

// Lane is an active lane, as its worker sees it.
type Lane struct {
	Name  sessions.Lane
	owner *ownership

	dirty bool          // woken since its worker last looked; guarded by ownership.mu
	woken chan struct{} // capacity 1: interrupts a wait

	// abort cancels the current run, if any; guarded by ownership.mu.
	abort context.CancelCauseFunc
	run   sessions.RunID
	// asked: an abort may have been requested before there was a run to cancel; guarded by ownership.mu.
	asked bool
	// heard: woken since the current run last looked for new messages; guarded by ownership.mu.
	heard bool

	// turns in a row; used by the worker only
	failures  int
	conflicts int
}

// Context ends when the partition is released.
func (l *Lane) Context() context.Context { return l.owner.ctx }

// Epoch is the epoch of the partition's owner; every write carries it.
func (l *Lane) Epoch() int64 { return l.owner.epoch }

// Partition is the lane's partition.
func (l *Lane) Partition() int { return l.owner.partition }

// Failures is how many turns have failed in a row.
func (l *Lane) Failures() int { return l.failures }

// Stopping reports whether the partition is being released, so that no new work may start.
func (l *Lane) Stopping() bool {
	l.owner.mu.Lock()
	defer l.owner.mu.Unlock()
	return l.owner.closed
}

// BeginRun sets the current run, and how to cancel it.
func (l *Lane) BeginRun(id sessions.RunID, cancel context.CancelCauseFunc) {
	l.owner.mu.Lock()
	defer l.owner.mu.Unlock()
	l.run, l.abort = id, cancel
}

// EndRun clears the current run.
func (l *Lane) EndRun() {
	l.owner.mu.Lock()
	defer l.owner.mu.Unlock()
	l.run, l.abort = "", nil
}

// AbortAsked reports, once, whether an abort may have been requested while no run was active.
func (l *Lane) AbortAsked() bool {
	l.owner.mu.Lock()
	defer l.owner.mu.Unlock()
	asked := l.asked
	l.asked = false
	return asked
}

// Hear notes that there may be new messages for the current run.
func (l *Lane) Hear() {
	l.owner.mu.Lock()
	defer l.owner.mu.Unlock()
	l.heard = true
}

// Heard reports, once, whether there may be new messages for the current run.
func (l *Lane) Heard() bool {
	l.owner.mu.Lock()
	defer l.owner.mu.Unlock()
	heard := l.heard
	l.heard = false
	return heard
}

func (l *Lane) nudge() {
	select {
	case l.woken <- struct{}{}:
	default:
	}
}

// settle decides whether the lane's goroutine continues, and waits if it has to.
func (l *Lane) settle(next Rest) bool {
	o := l.owner
	o.mu.Lock()
	if o.closed || o.ctx.Err() != nil || (!l.dirty && !next.Again && next.Wait == 0) {
		delete(o.lanes, l.Name)
		o.mu.Unlock()
		return false
	}
	l.dirty = false
	o.mu.Unlock()
	if next.Wait == 0 {
		return true
	}
	timer := time.NewTimer(next.Wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.woken:
	case <-o.ctx.Done():
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		delete(o.lanes, l.Name)
	}
	return !o.closed
}
