package bus

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"

	"sluice/sessions"
)

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

// rescanner is the optional ability of an owner to look at all rows of a partition again.
type rescanner interface{ Rescan(partition int) }

func (b *Bus) rescan() {
	b.mu.Lock()
	r, ok := b.owner.(rescanner)
	partitions := slices.Sorted(maps.Keys(b.owned))
	b.mu.Unlock()
	if !ok {
		return
	}
	for _, p := range partitions {
		b.guarded("rescan", p, func() { r.Rescan(p) })
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
