package lanes

import (
	"context"
	"errors"
	"sync"
	"time"

	"sluice/sessions"
)

// errHandback is the cause with which a lane's work is cancelled when its
// partition goes elsewhere: the work is handed back and counts no attempt.
var errHandback = errors.New("the partition is handed over")

// Causes with which a run is cancelled.
var (
	// ErrStopped: somebody stopped it.
	ErrStopped = errors.New("stopped by a person")
	// ErrReplaced: a newer message has come and the session's queue mode is interrupt.
	ErrReplaced = errors.New("replaced by a newer message")
)

// AbortCause is the error for what the store says; nil if nobody has asked.
func AbortCause(asked sessions.AbortCause) error {
	switch asked {
	case sessions.AbortNone:
		return nil
	case sessions.AbortReplaced:
		return ErrReplaced
	}
	return ErrStopped
}

// releaseWait is how long the work of a partition may take to end once it is cancelled: the grace of a tool, and a last write.
const releaseWait = 6 * time.Second

// ownership is one owned partition: its epoch and its lanes that are at work.
// Each lane with work has one goroutine, which ends when no work is left;
// stop waits for all of them, up to releaseWait.
type ownership struct {
	partition int
	epoch     int64
	ctx       context.Context // ends when the partition is released; its cause tells why
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

// stop ends all work of the partition: softly for grace, then by cancelling it. It waits until the work has ended, but not
// for ever: it reports whether all has ended. What has not writes nothing once the partition has its next owner.
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

// Lane is a lane while it has work, as its worker sees it.
type Lane struct {
	Name  sessions.Lane
	owner *ownership

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

// Context ends when the partition is released.
func (l *Lane) Context() context.Context { return l.owner.ctx }

// Epoch is that of the partition's owner; every write carries it.
func (l *Lane) Epoch() int64 { return l.owner.epoch }

// Partition is the lane's partition.
func (l *Lane) Partition() int { return l.owner.partition }

// Failures is how many turns have failed in a row.
func (l *Lane) Failures() int { return l.failures }

// Stopping reports whether the partition is being released: nothing new is begun.
func (l *Lane) Stopping() bool {
	l.owner.mu.Lock()
	defer l.owner.mu.Unlock()
	return l.owner.closed
}

// BeginRun names the run that is being worked, and how it is cancelled.
func (l *Lane) BeginRun(id sessions.RunID, cancel context.CancelCauseFunc) {
	l.owner.mu.Lock()
	defer l.owner.mu.Unlock()
	l.run, l.abort = id, cancel
}

// EndRun says that no run is being worked any more.
func (l *Lane) EndRun() {
	l.owner.mu.Lock()
	defer l.owner.mu.Unlock()
	l.run, l.abort = "", nil
}

// AbortAsked reports, once, whether somebody may have asked for an abort while no run was being worked.
func (l *Lane) AbortAsked() bool {
	l.owner.mu.Lock()
	defer l.owner.mu.Unlock()
	asked := l.asked
	l.asked = false
	return asked
}

// Hear notes that there may be something for the run that is being worked.
func (l *Lane) Hear() {
	l.owner.mu.Lock()
	defer l.owner.mu.Unlock()
	l.heard = true
}

// Heard reports, once, whether there may be something for the run that is being worked.
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

// settle decides whether the lane's goroutine goes on, and waits where it should.
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
