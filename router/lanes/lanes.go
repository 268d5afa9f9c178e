package lanes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/router/ledger"
	"sluice/sessions"
)

// abortPrefix marks a wake that asks a session's worker to look for an abort.
const abortPrefix = "abort|"

// conflictsMax is how many conflicts in a row are only a reason to look again at once; one more is a fault.
const conflictsMax = 4

// Config is what Lanes are made of. All fields are required.
type Config struct {
	Store      Store
	Bus        Waker
	Worker     func(lane *Lane) Turn // makes the worker of a lane that has got work
	Released   func(partition int)   // is told of each partition that was given back
	Partitions int                   // the same on all replicas, for ever
	Replica    string                // names this process among the replicas
	Grace      time.Duration         // for work under way when a partition is released
	Log        *slog.Logger
	Owned      prometheus.Gauge // how many partitions this replica owns
}

// Lanes are the partitions that this replica owns, with their lanes at work. Their goroutines are those of the lanes, which
// Release waits for. Lock order: mu, ownership.mu.
type Lanes struct {
	Config
	mu     sync.RWMutex
	owned  map[int]*ownership
	places places
}

// New makes Lanes without a partition.
func New(c Config) *Lanes { return &Lanes{Config: c, owned: map[int]*ownership{}} }

// Acquire makes this replica the owner of a partition and looks at its lanes with work. The bus calls it before any wake of the partition.
// ctx ends when the lease is lost.
func (l *Lanes) Acquire(ctx context.Context, partition int) error {
	epoch, err := l.Store.TakePartition(ctx, partition, l.Replica)
	if err != nil {
		return fmt.Errorf("take partition %d: %w", partition, err)
	}
	o := newOwnership(ctx, partition, epoch)
	l.mu.Lock()
	l.owned[partition] = o
	l.mu.Unlock()
	l.Owned.Inc()
	if err := l.rescan(ctx, o); err != nil {
		l.Release(ctx, partition) // else wakes would end here and not at the next owner
		return err
	}
	return nil
}

// Release gives a partition back. It returns once no work of the partition goes on here.
func (l *Lanes) Release(ctx context.Context, partition int) {
	l.mu.Lock()
	o := l.owned[partition]
	delete(l.owned, partition)
	l.mu.Unlock()
	if o == nil {
		return
	}
	l.Owned.Dec()
	if !o.stop(ctx, l.Grace) {
		l.Log.Error("partition given back while work goes on that does not look at its context; it writes nothing any more", "partition", partition)
	}
	l.Released(partition)
}

// ReleaseAll gives back the partitions that the bus has not taken away yet.
func (l *Lanes) ReleaseAll(ctx context.Context) {
	var wg sync.WaitGroup
	for _, p := range l.partitions() {
		wg.Go(func() { l.Release(ctx, p) })
	}
	wg.Wait()
}

// RescanAll looks at every lane with work of the owned partitions: wakes may have been lost.
func (l *Lanes) RescanAll() {
	for _, p := range l.partitions() {
		l.Rescan(p)
	}
}

// Rescan looks at every lane with work of an owned partition.
func (l *Lanes) Rescan(partition int) {
	if o := l.owner(partition); o != nil {
		if err := l.rescan(o.ctx, o); err != nil && o.ctx.Err() == nil {
			l.Log.Error("partition not rescanned", "partition", partition, "err", err)
		}
	}
}

func (l *Lanes) partitions() []int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var owned []int
	for p := range l.owned {
		owned = append(owned, p)
	}
	return owned
}

func (l *Lanes) rescan(ctx context.Context, o *ownership) error {
	lanes, err := l.Store.WaitingLanes(ctx, o.partition)
	if err != nil {
		return fmt.Errorf("list waiting lanes: %w", err)
	}
	for _, name := range lanes {
		l.wakeLane(o, name)
	}
	asked, err := l.Store.AbortsRequested(ctx, o.partition)
	if err != nil {
		return fmt.Errorf("list aborts: %w", err)
	}
	for _, id := range asked {
		l.checkAbort(o, sessions.SessionLane(id))
	}
	return nil
}

// Woken takes a wake of an owned partition from the bus. It does not block.
func (l *Lanes) Woken(partition int, name sessions.Lane) {
	o := l.owner(partition)
	if o == nil {
		return
	}
	if id, ok := strings.CutPrefix(string(name), abortPrefix); ok {
		l.checkAbort(o, sessions.Lane(id))
		return
	}
	l.wakeLane(o, name)
}

// Owns reports whether this replica owns a partition.
func (l *Lanes) Owns(partition int) bool { return l.owner(partition) != nil }

func (l *Lanes) owner(partition int) *ownership {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.owned[partition]
}

// Wake asks a lane's owner to look at it. Where that is this replica the bus has no part in it.
func (l *Lanes) Wake(partition int, name sessions.Lane) {
	if o := l.owner(partition); o != nil {
		l.wakeLane(o, name)
		return
	}
	l.Bus.Wake(partition, name)
}

// WakeSession asks the owner of a session to look at its queue.
func (l *Lanes) WakeSession(id sessions.ID) {
	name := sessions.SessionLane(id)
	l.Wake(name.Partition(l.Partitions), name)
}

// Commit stores a change and wakes whom it concerns.
func (l *Lanes) Commit(ctx context.Context, change ledger.Change) error {
	if err := l.Store.Commit(ctx, change); err != nil {
		return err
	}
	l.WakeFor(change)
	return nil
}

// WakeFor wakes whoever may have work after a change: the lanes of its new runs and of its
// deliveries, even one that is discarded, as others wait behind it, and the workers of sessions that it aborts.
func (l *Lanes) WakeFor(change ledger.Change) {
	for _, run := range change.Enqueue {
		l.Wake(run.Partition, sessions.SessionLane(run.Session))
	}
	for _, d := range change.Deliver {
		l.Wake(d.Partition, d.Lane)
	}
	for _, m := range change.Deliveries {
		l.Wake(m.Delivery.Partition, m.Delivery.Lane)
	}
	for _, i := range change.Interrupt {
		l.wakeAbort(i.Session)
	}
	for _, m := range change.Approvals {
		if m.Approval.Delivery == "" { // else its delivery moves with it
			l.WakeSession(m.Approval.Session)
		}
	}
	for _, a := range change.Abort {
		l.wakeAbort(a.Session)
	}
}

// wakeLane makes sure that a lane's worker looks at it.
func (l *Lanes) wakeLane(o *ownership, name sessions.Lane) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	if lane, ok := o.lanes[name]; ok {
		lane.dirty, lane.heard = true, true
		lane.nudge()
		return
	}
	lane := &Lane{Name: name, owner: o, woken: make(chan struct{}, 1)}
	o.lanes[name] = lane
	o.wg.Add(1)
	go func() {
		defer o.wg.Done()
		turn := l.Worker(lane)
		l.work(lane, turn, turn)
	}()
}

// work is a lane's goroutine: it takes the step, and then turn after turn.
func (l *Lanes) work(lane *Lane, step, turn Turn) {
	o := lane.owner
	for {
		next, err := guarded(step)
		if next.Then != nil {
			o.wg.Go(func() { l.work(lane, next.Then, turn) })
			return
		}
		step = turn
		switch {
		case errors.Is(err, sessions.ErrConflict) && lane.conflicts < conflictsMax:
			lane.conflicts++
			next = Rest{Again: true} // somebody else wrote: look again with fresh eyes
		case errors.Is(err, sessions.ErrFenced):
			l.Log.Info("partition has moved", "partition", o.partition, "lane", string(lane.Name))
			next = Rest{}
		case err != nil && o.ctx.Err() == nil:
			lane.failures++
			next.Wait = Backoff(lane.failures)
			l.Log.Error("lane failed", "lane", string(lane.Name), "err", err, "retry_in", next.Wait.String())
		case err == nil:
			lane.failures, lane.conflicts = 0, 0
		}
		if !lane.settle(next) {
			return
		}
	}
}

// guarded turns a panic into an error: one lane's fault stops no other.
func guarded(turn Turn) (next Rest, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return turn()
}

// wakeAbort asks the owner of a session to look whether its run was asked to end.
func (l *Lanes) wakeAbort(id sessions.ID) {
	name := sessions.SessionLane(id)
	partition := name.Partition(l.Partitions)
	if o := l.owner(partition); o != nil {
		l.checkAbort(o, name)
		return
	}
	l.Bus.Wake(partition, abortPrefix+name)
}

// checkAbort cancels the run of a session's worker if the store says so. Its goroutine is one of the partition's.
func (l *Lanes) checkAbort(o *ownership, name sessions.Lane) {
	o.mu.Lock()
	defer o.mu.Unlock()
	lane, ok := o.lanes[name]
	if !ok || o.closed {
		return
	}
	if lane.abort == nil {
		lane.asked, lane.dirty = true, true // a run may be about to start, or is laid aside
		lane.nudge()
		return
	}
	run, abort := lane.run, lane.abort
	o.wg.Add(1)
	go func() {
		defer o.wg.Done()
		asked, err := l.Store.AbortRequested(o.ctx, run)
		if err != nil && o.ctx.Err() == nil {
			l.Log.Error("abort not read", "run", string(run), "err", err)
		}
		if cause := AbortCause(asked); cause != nil {
			abort(cause)
		}
	}()
}
