package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"sluice/internal/pause"
)

const (
	leaseTTL = 5 * time.Second // at the server
	// leaseTrust is how long a replica relies on a lease, counted from before its request.
	leaseTrust = 4 * time.Second
	renewEvery = time.Second
	// tryEvery is the pause between tries to get a lease that another replica has.
	tryEvery = 300 * time.Millisecond
)

// errLost is the cause with which a lease's context ends if it was not renewed in time.
var errLost = errors.New("lease was lost")

// errFenced is the cause if another replica took the partition without a lease.
var errFenced = errors.New("another replica took the partition")

// lease is a lease of this replica.
type lease struct {
	key      string
	revision uint64
	cancel   context.CancelCauseFunc
	expiry   *time.Timer // ends the trust
}

// Lease runs hold while this replica has the named lease, repeatedly, until ctx ends or hold returns an error. The
// context of hold ends when the lease is lost, before another replica can get it. standby is called now and then
// while another replica has the lease.
func (b *Bus) Lease(ctx context.Context, name string, standby func(), hold func(ctx context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(b.ctx, stop)()
	for ctx.Err() == nil {
		err := b.holdOnce(ctx, name, standby, hold)
		if err != nil {
			return fmt.Errorf("while holding lease %s: %w", name, err)
		}
		if ctx.Err() == nil {
			_ = pause.Wait(ctx, tryEvery)
		}
	}
	return nil
}

// holdOnce waits for the lease and runs hold under it. It gives the lease back even if hold panics.
func (b *Bus) holdOnce(ctx context.Context, name string, standby func(), hold func(ctx context.Context) error) error {
	if b.solo() {
		return hold(ctx)
	}
	held, l := b.acquire(ctx, name, standby)
	if l == nil {
		return nil
	}
	defer b.release(l)
	return hold(held)
}

// acquire waits until it has the lease; nil if ctx ended first.
func (b *Bus) acquire(ctx context.Context, key string, standby func()) (context.Context, *lease) {
	taken := false // by another replica, at the last try
	for ctx.Err() == nil {
		b.mu.Lock()
		quiet := time.Until(b.quiet)
		b.mu.Unlock()
		if quiet > 0 {
			_ = pause.Wait(ctx, quiet)
			continue
		}
		asked := time.Now() // the trust starts before the request
		revision, err := b.create(ctx, key, taken)
		taken = errors.Is(err, jetstream.ErrKeyExists)
		if err == nil && time.Since(asked) < leaseTrust {
			return b.keep(ctx, key, revision, asked)
		}
		switch {
		case taken:
			standby()
		case err != nil && ctx.Err() == nil:
			b.cfg.Log.Debug("could not request a lease", "lease", key, "err", err)
			b.damaged()
		}
		_ = pause.Wait(ctx, tryEvery)
	}
	return nil, nil
}

func (b *Bus) bucket() jetstream.KeyValue {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.leases
}

// create requests a lease. If another replica had it, create first reads whether it still has: all other replicas
// try again and again, and a read costs the servers less than a write that fails.
func (b *Bus) create(ctx context.Context, key string, taken bool) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if taken {
		if _, err := b.bucket().Get(ctx, key); err == nil {
			return 0, jetstream.ErrKeyExists
		}
	}
	return b.bucket().Create(ctx, key, []byte(b.cfg.Replica))
}

// keep registers a lease with the keeper, which renews it.
func (b *Bus) keep(ctx context.Context, key string, revision uint64, asked time.Time) (context.Context, *lease) {
	held, cancel := context.WithCancelCause(ctx)
	l := &lease{key: key, revision: revision, cancel: cancel}
	l.expiry = time.AfterFunc(leaseTrust-time.Since(asked), func() {
		b.metrics.lost.Inc()
		cancel(errLost)
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held[key] = l
	return held, l
}

// release gives a lease back, so that another replica need not wait until it expires.
func (b *Bus) release(l *lease) {
	b.mu.Lock()
	delete(b.held, l.key)
	revision := l.revision
	b.mu.Unlock()
	l.expiry.Stop()
	l.cancel(nil)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), requestTimeout)
	defer cancel()
	err := b.bucket().Delete(ctx, l.key, jetstream.LastRevision(revision))
	if err != nil && b.conn.IsConnected() {
		b.cfg.Log.Debug("could not release a lease; it expires on its own", "lease", l.key, "err", err)
	}
}

// renew extends a lease. If the server has forgotten the lease, it is requested again; this fails if another replica
// has taken it.
func (b *Bus) renew(ctx context.Context, l *lease) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	b.mu.Lock()
	revision := l.revision
	b.mu.Unlock()
	asked := time.Now()
	next, err := b.bucket().Update(ctx, l.key, []byte(b.cfg.Replica), revision)
	if err != nil && b.conn.IsConnected() {
		asked = time.Now()
		next, err = b.bucket().Create(ctx, l.key, []byte(b.cfg.Replica))
	}
	if err != nil { // the trust expires unless the next try succeeds
		if !errors.Is(err, jetstream.ErrKeyExists) && ctx.Err() == nil {
			b.damaged()
		}
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held[l.key] == l && l.expiry.Stop() {
		l.revision = next
		l.expiry.Reset(leaseTrust - time.Since(asked))
	}
}
