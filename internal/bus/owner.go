package bus

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"

	"sluice/sessions"
)

// Owner works on partitions. The bus makes the calls for one
// partition one after the other, those for different partitions in parallel.
type Owner interface {
	// Acquire is called when this replica has got the partition, before any wake
	// of it. An error gives the partition back. ctx is cancelled when the lease is lost or the bus stops.
	Acquire(ctx context.Context, partition int) error
	// Release is called when the partition was lost or is to be handed over. It
	// returns once no work of the partition goes on here.
	Release(ctx context.Context, partition int)
	// Woken is called for each wake of an owned partition; it must not block.
	Woken(partition int, lane sessions.Lane)
	// Rescan looks at all rows of an owned partition again: wakes may have been lost.
	Rescan(partition int)
}

// take gives a partition to the owner.
func (b *Bus) take(ctx context.Context, p int) (err error) {
	defer recovered(&err)
	if err := b.owner.Acquire(ctx, p); err != nil {
		return fmt.Errorf("acquire partition %d: %w", p, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.owned[p] = true
	return nil
}

// giveBack takes a partition from the owner and waits until it has let go.
func (b *Bus) giveBack(ctx context.Context, p int) {
	b.mu.Lock()
	delete(b.owned, p)
	b.mu.Unlock()
	b.guarded("release", p, func() { b.owner.Release(ctx, p) })
}

func (b *Bus) woken(p int, lane sessions.Lane) {
	b.guarded("wake", p, func() { b.owner.Woken(p, lane) })
}

func (b *Bus) rescan() {
	b.mu.Lock()
	partitions := slices.Sorted(maps.Keys(b.owned))
	b.mu.Unlock()
	for _, p := range partitions {
		b.guarded("rescan", p, func() { b.owner.Rescan(p) })
	}
}

// guarded keeps a panic of the owner from the goroutines of the bus and of NATS.
func (b *Bus) guarded(what string, p int, call func()) {
	var err error
	func() {
		defer recovered(&err)
		call()
	}()
	if err != nil {
		b.cfg.Log.Error("owner failed", "call", what, "partition", p, "err", err)
	}
}

func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	}
}
