package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"sluice/internal/pause"
	"sluice/sessions"
)

const (
	// releaseTimeout bounds a release after a lost lease; the router cancels its work itself.
	releaseTimeout = 10 * time.Second
	// aloneTries is how often a partition is taken without a lease while others take it.
	aloneTries = 100
	// retryAcquire is the pause after an owner has refused a partition.
	retryAcquire = time.Second
)

// Own starts to take partitions for the owner. With the embedded server it returns when all are taken; otherwise they
// follow as other replicas release them.
func (b *Bus) Own(ctx context.Context, owner Owner) error {
	b.owned.by(owner)
	b.Replicas.heard(b.cfg.Replica)
	if b.solo() {
		return b.ownAll()
	}
	if _, err := b.conn.Subscribe(memberSubject, func(m *nats.Msg) {
		if b.Replicas.heard(string(m.Data)) {
			b.greet() // so that a new replica knows this one at once, and misses it if it dies soon
		}
		b.Replicas.described(string(m.Data), aboutOf(m))
	}); err != nil {
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
		g.Go(func() error { return b.takeAlone(p) })
	}
	return g.Wait()
}

// takeAlone takes a partition without a lease. It tries again if another gateway on the same database was faster.
func (b *Bus) takeAlone(p int) error {
	var err error
	for range aloneTries {
		var epoch int64
		if epoch, err = b.owned.epoch(b.ctx, p); err == nil {
			err = b.owned.take(b.ctx, p, epoch)
		}
		if !errors.Is(err, sessions.ErrConflict) {
			break
		}
	}
	return err
}

// Handover releases all partitions and takes no more; other replicas take them at once. It waits for work in progress
// as long as the owner does, at most until ctx ends.
func (b *Bus) Handover(ctx context.Context) {
	first := b.Replicas.leave()
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

// runPartition takes a partition whenever this replica should own it, and releases it when another one should, when
// it is lost, or when the replica leaves.
func (b *Bus) runPartition(p int) {
	key := leaseOf(p)
	for {
		ctx, cancel := b.whileOwned(p)
		if ctx == nil {
			return
		}
		var epoch int64 // read before the lease is requested: a take that comes too late, after another replica's, then fails
		ready := func(ctx context.Context) (ok bool) {
			epoch, ok = b.epochBefore(ctx, p)
			return ok
		}
		if held, l := b.leases.acquire(ctx, key, func() {}, ready); l != nil {
			b.serve(held, p, epoch)
			b.leases.release(l)
		}
		cancel()
	}
}

// whileOwned waits until this replica should own the partition. The returned context ends when it no longer should;
// it is nil if the replica leaves.
func (b *Bus) whileOwned(p int) (context.Context, context.CancelFunc) {
	for {
		mine, changed, leaving := b.Replicas.mine(p)
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
			mine, changed, leaving := b.Replicas.mine(p)
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

// epochBefore reads the epoch of a partition whose lease is about to be requested. After an error it waits and returns false.
func (b *Bus) epochBefore(ctx context.Context, p int) (epoch int64, ok bool) {
	epoch, err := b.owned.epoch(ctx, p)
	if err != nil {
		b.notTaken(ctx, p, err)
	}
	return epoch, err == nil
}

// notTaken reports that a partition could not be taken, and waits until the next try.
func (b *Bus) notTaken(ctx context.Context, p int, err error) {
	switch {
	case ctx.Err() != nil:
		return
	case errors.Is(err, sessions.ErrConflict):
		b.cfg.Log.Info("another gateway took the partition first; taking it again", "partition", p)
	default:
		b.cfg.Log.Error("partition not taken", "partition", p, "err", err)
	}
	_ = pause.Wait(ctx, retryAcquire)
}

// serve owns a partition until ctx ends. It subscribes to wakes before the owner reads the rows, so that no wake is
// lost in between.
func (b *Bus) serve(ctx context.Context, p int, epoch int64) {
	stop, err := b.subscribe(p)
	defer stop()
	if err == nil {
		err = b.owned.take(ctx, p, epoch)
	}
	if err != nil {
		b.notTaken(ctx, p, err)
		return
	}
	b.cfg.Log.Info("partition taken", "partition", p)
	b.readSteps(ctx, p)
	releasing, cancel := context.WithTimeout(b.soft, releaseTimeout)
	defer cancel()
	b.owned.giveBack(releasing, p)
	b.cfg.Log.Info("partition given back", "partition", p, "cause", context.Cause(ctx).Error())
}

// subscribeWakes subscribes to the wakes of a partition.
func (b *Bus) subscribeWakes(p int) (stop func(), err error) {
	sub, err := b.conn.Subscribe(wakeSubject+strconv.Itoa(p), func(m *nats.Msg) {
		b.owned.woken(p, sessions.Lane(m.Data))
	})
	if err != nil {
		return func() {}, err
	}
	return func() {
		if err := sub.Unsubscribe(); err != nil {
			b.cfg.Log.Debug("could not unsubscribe from wakes", "partition", p, "err", err)
		}
	}, b.conn.FlushTimeout(requestTimeout)
}

// Fenced implements [router.Bus]: it ends the lease, so that the partition is given back and taken again. This has a pause, or
// gateways that share a database but no bus would take their partitions from each other all the time. With the embedded server
// there is no lease: another gateway has taken the partition, and this one reports that until it is restarted.
func (b *Bus) Fenced(p int) {
	if !b.solo() {
		b.leases.end(leaseOf(p), errFenced)
		return
	}
	if b.ctx.Err() == nil && !b.replaced.Swap(true) {
		b.cfg.Log.Error("this gateway does no work any more", "err", errReplaced, "partition", p)
	}
}

// errReplaced says what two gateways do that share a database and each have an embedded server.
var errReplaced = errors.New("another gateway on the same database has taken over this one's work, because gateways with the embedded bus do not know of each other: " +
	"set bus.url to the same NATS server for all of them and restart them; or stop the other one and restart this one")

// leaseOf names the lease of a partition.
func leaseOf(p int) string { return "partition." + strconv.Itoa(p) }

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
		b.Replicas.forget()
		b.leases.renewAll(b.ctx)
	}
}
