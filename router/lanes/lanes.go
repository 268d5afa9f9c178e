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

// conflictsMax is how many conflicts in a row are retried at once; one more counts as a failure.
const conflictsMax = 4

// Config has the dependencies of Lanes. All fields are required.
type Config struct {
	Store      Store
	Bus        Waker
	Steps      Steps                 // nil: steps are woken like other runs
	Worker     func(lane *Lane) Turn // creates the worker of a lane
	Released   func(partition int)   // is called after each released partition
	Partitions int                   // the same on all replicas; never changes
	Replica    string                // names this process among the replicas
	Grace      time.Duration         // for work in progress when a partition is released
	Log        *slog.Logger
	Owned      prometheus.Gauge // how many partitions this replica owns
}

// Lanes has the partitions that this replica owns, with their active lanes. Each active lane has a goroutine, which
// Release waits for. Lock order: mu, ownership.mu.
type Lanes struct {
	Config
	mu     sync.RWMutex
	owned  map[int]*ownership
	places places
}

// New makes Lanes without a partition.
func New(c Config) *Lanes { return &Lanes{Config: c, owned: map[int]*ownership{}} }

// Epoch reads the epoch of a partition's last owner. The bus calls it before it requests the lease.
func (l *Lanes) Epoch(ctx context.Context, partition int) (int64, error) {
	return l.Store.PartitionEpoch(ctx, partition)
}

// Acquire makes this replica the owner of a partition and starts its lanes that have work. The bus calls it before
// any wake of the partition. ctx ends when the lease is lost. epoch is the epoch from before the lease: if the partition
// had another owner since, Acquire returns ErrConflict.
func (l *Lanes) Acquire(ctx context.Context, partition int, epoch int64) error {
	epoch, err := l.Store.TakePartition(ctx, partition, l.Replica, epoch)
	if err != nil {
		return fmt.Errorf("take partition %d: %w", partition, err)
	}
	o := newOwnership(ctx, partition, epoch)
	l.mu.Lock()
	l.owned[partition] = o
	l.mu.Unlock()
	l.Owned.Inc()
	if err := l.rescan(ctx, o); err != nil {
		l.Release(ctx, partition) // otherwise wakes would end here instead of at the next owner
		return err
	}
	return nil
}

// Release gives a partition back. It returns when its work here has ended.
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
		l.Log.Error("partition released while work that ignores its context continues; that work can no longer write", "partition", partition)
	}
	l.Released(partition)
}

// ReleaseAll releases the partitions that this replica still owns.
func (l *Lanes) ReleaseAll(ctx context.Context) {
	var wg sync.WaitGroup
	for _, p := range l.partitions() {
		wg.Go(func() { l.Release(ctx, p) })
	}
	wg.Wait()
}

// RescanAll starts every lane with work in the owned partitions, because wakes may have been lost.
func (l *Lanes) RescanAll() {
	for _, p := range l.partitions() {
		l.Rescan(p)
	}
}

// Rescan starts every lane with work in an owned partition.
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

// Woken handles a wake of an owned partition from the bus. It does not block.
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

// Wake wakes a lane. It uses the bus only if another replica owns the lane.
func (l *Lanes) Wake(partition int, name sessions.Lane) {
	if o := l.owner(partition); o != nil {
		l.wakeLane(o, name)
		return
	}
	l.Bus.Wake(partition, name)
}

// WakeSession wakes the lane of a session's runs.
func (l *Lanes) WakeSession(id sessions.ID) {
	name := sessions.SessionLane(id)
	l.Wake(name.Partition(l.Partitions), name)
}

// Commit stores a change and wakes the lanes that it affects.
func (l *Lanes) Commit(ctx context.Context, change ledger.Change) error {
	if err := l.Store.Commit(ctx, change); err != nil {
		return err
	}
	l.WakeFor(change)
	return nil
}

// WakeFor wakes the lanes that may have work after a change: those of its new runs and of its deliveries (even
// discarded ones, because others wait behind them), and the workers of sessions that it aborts.
func (l *Lanes) WakeFor(change ledger.Change) {
	if l.Steps != nil {
		l.Steps.Changed(change)
	}
	l.wakeRuns(change.Enqueue)
	for _, d := range change.Deliver {
		if d.Status != ledger.DeliverySending { // else its worker waits for the commit, see [Lanes.Reserve]
			l.Wake(d.Partition, d.Lane)
		}
	}
	for _, m := range change.Deliveries {
		l.Wake(m.Delivery.Partition, m.Delivery.Lane)
	}
	for _, t := range change.Triggers {
		if t.Status.Open() {
			l.Wake(t.Partition, ledger.DueLane)
		}
	}
	for _, t := range change.AlertTouches {
		l.Wake(t.Group.Partition, ledger.AlertLane)
	}
	for _, m := range change.Runs {
		if m.Run.Kind == sessions.KindTrigger && m.Run.Status.Terminal() {
			l.Wake(ledger.TriggerPartition(ledger.TriggerOfRun(m.Run.EventKey), l.Partitions), ledger.DueLane)
		}
	}
	for _, i := range change.Interrupt {
		l.wakeAbort(i.Session)
	}
	for _, m := range change.Approvals {
		if m.Approval.Delivery == "" { // otherwise its delivery changes in the same commit
			l.WakeSession(m.Approval.Session)
		}
	}
	for _, a := range change.Abort {
		l.wakeAbort(a.Session)
		for _, key := range a.Triggers {
			l.Wake(ledger.TriggerPartition(key, l.Partitions), ledger.DueLane)
		}
	}
}

func (l *Lanes) wakeRuns(enqueued []sessions.Run) {
	for _, run := range enqueued {
		switch {
		case run.Status == sessions.RunRunning: // its worker waits for the commit, see [Lanes.Reserve]
		case l.Steps != nil && run.Kind.Step(): // its message wakes the lane
		default:
			l.Wake(run.Partition, sessions.SessionLane(run.Session))
		}
	}
}

// wakeLane makes sure that a lane's worker runs.
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
	lane := o.open(name)
	go func() {
		defer o.wg.Done()
		turn := l.Worker(lane)
		l.work(lane, turn, turn)
	}()
}

// Reserved is an idle lane that starts no worker until the caller calls [Reserved.Start]. The caller must do so.
type Reserved struct {
	*Lane
	lanes *Lanes
}

// Reserve reserves an idle lane. It reports false if the lane has a worker, or if this replica does not own the
// partition.
func (l *Lanes) Reserve(partition int, name sessions.Lane) (Reserved, bool) {
	o := l.owner(partition)
	if o == nil {
		return Reserved{}, false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, busy := o.lanes[name]; busy || o.closed {
		return Reserved{}, false
	}
	return Reserved{Lane: o.open(name), lanes: l}, true
}

// Start runs step on a reserved lane, then turns as for any lane.
func (r Reserved) Start(step, turn Turn) {
	go func() {
		defer r.owner.wg.Done()
		r.lanes.work(r.Lane, step, turn)
	}()
}

// work is a lane's goroutine: it takes the step, then one turn after the other.
func (l *Lanes) work(lane *Lane, step, turn Turn) {
	o := lane.owner
	for {
		next, err := guarded(step)
		if next.Then != nil {
			o.wg.Go(func() { l.work(lane, next.Then, turn) })
			return
		}
		step = turn
		l.judge(lane, &next, err)
		if !lane.settle(next) {
			return
		}
	}
}

// judge decides how a lane rests after a step. Its frame is not in [Lanes.work], below which thousands of runs wait for their
// models.
//
//go:noinline
func (l *Lanes) judge(lane *Lane, next *Rest, err error) {
	o := lane.owner
	switch {
	case errors.Is(err, sessions.ErrConflict) && lane.conflicts < conflictsMax:
		lane.conflicts++
		*next = Rest{Again: true} // somebody else wrote: read again and retry
	case errors.Is(err, sessions.ErrFenced):
		l.Log.Info("partition has moved", "partition", o.partition, "lane", string(lane.Name))
		*next = Rest{}
		if o.ctx.Err() == nil { // the bus does not know of it: the database or the bus has forgotten something
			l.Bus.Fenced(o.partition)
		}
	case err != nil && o.ctx.Err() == nil:
		lane.failures++
		next.Wait = Backoff(lane.failures)
		l.Log.Error("lane failed", "lane", string(lane.Name), "err", err, "retry_in", next.Wait.String())
	case err == nil:
		lane.failures, lane.conflicts = 0, 0
	}
}

// guarded turns a panic into an error, so that one lane's fault does not stop the others.
func guarded(turn Turn) (next Rest, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return turn()
}

// wakeAbort makes the owner of a session check for an abort request.
func (l *Lanes) wakeAbort(id sessions.ID) {
	name := sessions.SessionLane(id)
	partition := name.Partition(l.Partitions)
	if o := l.owner(partition); o != nil {
		l.checkAbort(o, name)
		return
	}
	l.Bus.Wake(partition, abortPrefix+name)
}

// checkAbort cancels a session's current run if the store has an abort request. The partition owns its goroutine.
func (l *Lanes) checkAbort(o *ownership, name sessions.Lane) {
	o.mu.Lock()
	defer o.mu.Unlock()
	lane, ok := o.lanes[name]
	if !ok || o.closed {
		return
	}
	if lane.abort == nil {
		lane.asked, lane.dirty = true, true // a run may be about to start, or is suspended
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
