package bus

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// claimKey is in the bucket of leases. Its value is the database whose gateways share the bus.
	claimKey = "database"
	// claimPause is how long gateways of another database wait after they last saw the claim, so that it expires, and those that
	// had it can renew it after a restart of the server.
	claimPause = leaseTTL + leaseTrust
)

// errForeign says why a gateway does no work that shares NATS, but not the database, with others.
var errForeign = errors.New("gateways with another database use the same NATS account, so this one does no work: " +
	"give bus.url an account of its own on NATS, or set store.url to the same database for all of them")

// claim lets only gateways of one database work on one NATS account: they divide the partitions, so those of two databases would
// each leave work undone. The first database has the claim as long as one of its gateways runs. It is safe for concurrent use.
type claim struct {
	database func(ctx context.Context) (string, error) // nil: the claim is not needed
	state    func() (keyValues, time.Duration)         // of the bucket
	log      *slog.Logger

	name string // of the database, once it is known
	seen uint64 // the revision that the last look has found: if nobody has renewed the claim since, this replica does

	mu      sync.Mutex
	have    bool
	foreign time.Time // when another database was last seen to have it; zero: never
}

// ours reports whether the gateways of this database have the claim.
func (c *claim) ours() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.have || c.database == nil
}

// fault is why this gateway does no work; nil: it does, or has not looked yet.
func (c *claim) fault() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.have || c.foreign.IsZero() {
		return nil
	}
	return errForeign
}

// look finds out who has the claim, and takes or renews it. After an error it keeps what it knows.
func (c *claim) look(ctx context.Context) {
	if c.database == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if err := c.request(ctx); err != nil {
		c.log.Debug("claim of the bus not known", "err", err)
	}
}

func (c *claim) request(ctx context.Context) (err error) {
	if c.name == "" {
		if c.name, err = c.database(ctx); err != nil {
			return err
		}
	}
	bucket, _ := c.state()
	found, err := bucket.Get(ctx, claimKey)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		if !c.mayTake() {
			return nil
		}
		c.seen, err = bucket.Create(ctx, claimKey, []byte(c.name))
		if err == nil {
			c.found(true)
		}
		return err
	case err != nil:
		return err
	}
	mine := string(found.Value()) == c.name
	c.found(mine)
	if last := c.seen; mine && last == found.Revision() {
		_, err = bucket.Update(ctx, claimKey, []byte(c.name), last)
	}
	c.seen = found.Revision()
	return err
}

func (c *claim) mayTake() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.have || time.Since(c.foreign) > claimPause
}

// found notes who has the claim.
func (c *claim) found(mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was, before := c.have, !c.foreign.IsZero()
	c.have = mine
	switch {
	case !mine:
		c.foreign = time.Now()
		if was || !before {
			c.log.Error("this gateway does no work", "err", errForeign)
		}
	case !was && before:
		c.foreign = time.Time{}
		c.log.Info("gateways with another database have left the bus; this one works")
	}
}
