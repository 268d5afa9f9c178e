package bus

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"sluice/sessions"
)

const (
	// releaseTimeout bounds a release that a lost lease asks for; the router cancels its work itself.
	releaseTimeout = 10 * time.Second
	// retryAcquire is the pause after an owner refused a partition.
	retryAcquire = time.Second
)

// Own starts to take partitions for the owner. With the embedded server it
// returns when all are taken; else they come as other replicas let go of them.
func (b *Bus) Own(ctx context.Context, owner Owner) error {
	b.owned.by(owner)
	b.roster.heard(b.cfg.Replica)
	if b.solo() {
		return b.ownAll()
	}
	if _, err := b.conn.Subscribe(memberSubject, func(m *nats.Msg) { b.roster.heard(string(m.Data)) }); err != nil {
		return fmt.Errorf("subscribe to members: %w", err)
	}
	b.greet()
	b.wg.Go(b.keeper)
	for p := range b.cfg.Partitions {
		b.handover.Go(func() { b.runPartition(p) })
	}
	return nil
}

func (b *Bus) ownAll() error {
	var g errgroup.Group
	for p := range b.cfg.Partitions {
		g.Go(func() error { return b.owned.take(b.ctx, p) })
	}
	return g.Wait()
}

// Handover lets go of all partitions and takes none any more. Other replicas
// take them at once. It waits for work in progress as long as the owner does; when
// ctx ends, so does the owner's time.
func (b *Bus) Handover(ctx context.Context) {
	first := b.roster.leave()
	if b.solo() {
		var all sync.WaitGroup
		for _, p := range b.owned.all() {
			all.Go(func() { b.owned.giveBack(ctx, p) })
		}
		all.Wait()
		return
	}
	if first && b.conn != nil {
		if err := b.conn.Publish(memberSubject, []byte(farewell+b.cfg.Replica)); err != nil {
			b.cfg.Log.Debug("could not announce that this replica leaves", "err", err)
		}
	}
	defer context.AfterFunc(ctx, b.endSoft)()
	b.handover.Wait()
}

// runPartition takes a partition whenever it falls to this replica, and lets go of it
// when it falls to another one, is lost, or the replica leaves.
func (b *Bus) runPartition(p int) {
	key := "partition." + strconv.Itoa(p)
	for {
		ctx, cancel := b.whileOwned(p)
		if ctx == nil {
			return
		}
		if held, l := b.acquire(ctx, key, func() {}); l != nil {
			b.serve(held, p)
			b.release(l)
		}
		cancel()
	}
}

// whileOwned waits until the partition falls to this replica. The context that
// it gives ends when it does so no more; nil when the replica leaves.
func (b *Bus) whileOwned(p int) (context.Context, context.CancelFunc) {
	for {
		mine, changed, leaving := b.roster.mine(p)
		if leaving {
			return nil, nil
		}
		if mine {
			break
		}
		<-changed
	}
	ctx, cancel := context.WithCancel(b.ctx)
	b.wg.Go(func() {
		for ctx.Err() == nil {
			mine, changed, leaving := b.roster.mine(p)
			if !mine || leaving {
				cancel()
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
	})
	return ctx, cancel
}

// serve owns a partition until ctx ends. It hears the wakes before the owner
// looks at the rows: whatever is woken later is heard, whatever was before is seen.
func (b *Bus) serve(ctx context.Context, p int) {
	sub, err := b.conn.Subscribe(wakeSubject+strconv.Itoa(p), func(m *nats.Msg) {
		b.owned.woken(p, sessions.Lane(m.Data))
	})
	if err == nil {
		err = b.conn.FlushTimeout(requestTimeout)
	}
	if err == nil {
		err = b.owned.take(ctx, p)
	}
	if err == nil {
		b.cfg.Log.Info("partition taken", "partition", p)
		<-ctx.Done()
		releasing, cancel := context.WithTimeout(b.soft, releaseTimeout)
		defer cancel()
		b.owned.giveBack(releasing, p)
		b.cfg.Log.Info("partition given back", "partition", p, "cause", context.Cause(ctx).Error())
	} else if ctx.Err() == nil {
		b.cfg.Log.Error("partition not taken", "partition", p, "err", err)
		pause(ctx, retryAcquire)
	}
	if sub != nil {
		if err := sub.Unsubscribe(); err != nil {
			b.cfg.Log.Debug("could not unsubscribe from wakes", "partition", p, "err", err)
		}
	}
}

// keeper renews leases, sends heartbeats and forgets replicas that are gone.
func (b *Bus) keeper() {
	ticker := time.NewTicker(renewEvery)
	defer ticker.Stop()
	for {
		select {
		case <-b.ctx.Done():
			return
		case <-ticker.C:
		}
		b.greet()
		b.roster.forget()
		b.renewAll()
	}
}

// renewAll renews beside each other, so that a slow answer delays no other lease.
func (b *Bus) renewAll() {
	b.mu.Lock()
	leases := slices.Collect(maps.Values(b.held))
	b.mu.Unlock()
	var all sync.WaitGroup
	for _, l := range leases {
		all.Go(func() { b.renew(b.ctx, l) })
	}
	all.Wait()
}
