package bus

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"

	"sluice/sessions"
)

// Owner works on partitions. The bus makes the calls for one partition one after the other, and those for different
// partitions in parallel.
type Owner interface {
	// Epoch reads the epoch of the partition's last owner. It is called before the lease is requested.
	Epoch(ctx context.Context, partition int) (int64, error)
	// Acquire is called when this replica has the lease, before any wake for the partition. It takes the partition if its
	// epoch is still the one from before the lease, else it returns ErrConflict. An error gives the partition back. ctx is
	// cancelled when the lease is lost or the bus stops.
	Acquire(ctx context.Context, partition int, epoch int64) error
	// Release is called when the partition was lost or must be handed over. It returns when all work of the partition
	// has ended here.
	Release(ctx context.Context, partition int)
	// Woken is called for each wake of an owned partition. It must not block.
	Woken(partition int, lane sessions.Lane)
	// Stepped is called for each step of an exchange that the stream has for an owned partition. It must not block. ack
	// removes the step from the stream.
	Stepped(partition int, text []byte, ack func())
	// Rescan reads all rows of an owned partition again, because wakes may have been lost.
	Rescan(partition int)
}

// owned has the partitions that the owner has here. It is safe for concurrent use.
type owned struct {
	log *slog.Logger

	mu         sync.Mutex
	owner      Owner
	partitions map[int]bool
}

func newOwned(log *slog.Logger) *owned { return &owned{log: log, partitions: map[int]bool{}} }

func (o *owned) by(owner Owner) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.owner = owner
}

// all returns the partitions in order.
func (o *owned) all() []int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Sorted(maps.Keys(o.partitions))
}

// epoch asks the owner for the epoch of a partition.
func (o *owned) epoch(ctx context.Context, p int) (epoch int64, err error) {
	defer recovered(&err)
	return o.owner.Epoch(ctx, p)
}

// take gives a partition to the owner.
func (o *owned) take(ctx context.Context, p int, epoch int64) (err error) {
	defer recovered(&err)
	if err := o.owner.Acquire(ctx, p, epoch); err != nil {
		return fmt.Errorf("acquire partition %d: %w", p, err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.partitions[p] = true
	return nil
}

// giveBack takes a partition from the owner and waits until its work has ended.
func (o *owned) giveBack(ctx context.Context, p int) {
	o.mu.Lock()
	delete(o.partitions, p)
	o.mu.Unlock()
	o.guarded("release", p, func() { o.owner.Release(ctx, p) })
}

// wake wakes a lane of a partition, if the owner has it.
func (o *owned) wake(p int, lane sessions.Lane) {
	if o.has(p) {
		o.woken(p, lane)
	}
}

func (o *owned) woken(p int, lane sessions.Lane) {
	o.guarded("wake", p, func() { o.owner.Woken(p, lane) })
}

// stepped gives a step to the owner of its partition. A step of a partition that is not owned here stays in the stream.
func (o *owned) stepped(p int, text []byte, ack func()) {
	if o.has(p) {
		o.guarded("step", p, func() { o.owner.Stepped(p, text, ack) })
	}
}

func (o *owned) has(p int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.partitions[p]
}

func (o *owned) rescan() {
	for _, p := range o.all() {
		o.guarded("rescan", p, func() { o.owner.Rescan(p) })
	}
}

// guarded runs a call of the owner and recovers a panic, which must not end the goroutines of the bus or of NATS.
func (o *owned) guarded(what string, p int, call func()) {
	var err error
	func() {
		defer recovered(&err)
		call()
	}()
	if err != nil {
		o.log.Error("owner failed", "call", what, "partition", p, "err", err)
	}
}

func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	}
}
