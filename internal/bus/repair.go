package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sluice/internal/pause"
)

const (
	eventsStream  = "SLUICE_EVENTS"
	eventsSubject = "sluice.events."
	leasesBucket  = "SLUICE_LEASES"

	eventsPerSession = 2048
	eventsAge        = 15 * time.Minute
	eventsBytes      = 32 << 20

	// repairEvery is the pause between tries to create what the server has lost.
	repairEvery = 500 * time.Millisecond

	clusterCopies = 3
	// clusterTimeout is how long a cluster may take to create what is missing before it is asked again.
	clusterTimeout = 3 * time.Second
	// The server's codes for a cluster that can't hold this many copies, and for one without a leader.
	noSuitablePeers jetstream.ErrorCode = 10005
	noLeader        jetstream.ErrorCode = 10008
)

// errNoQuorum is the error for a cluster that is reachable but stores nothing.
var errNoQuorum = errors.New("the NATS cluster has no quorum: start more of its nodes, or check their logs; the gateway then continues on its own")

// stream is one life of the events' stream: a server that restarts has forgotten it, and then a new one is created.
type stream struct {
	jetstream.Stream
	created time.Time
	life    context.Context // ends when the stream is found to be gone
	end     context.CancelFunc
}

// damaged asks the repairer to check whether the server still has everything.
func (b *Bus) damaged() {
	select {
	case b.repair <- struct{}{}:
	default: // already requested
	}
}

// repairer creates again what the server has lost, until it succeeds. It then lets the owner read its rows, because
// wakes may have been lost as well.
func (b *Bus) repairer() {
	said := "" // why the bus was incomplete at the last check
	for {
		select {
		case <-b.ctx.Done():
			return
		case <-b.repair:
		}
		err := b.ensure(b.ctx)
		b.lacks.Store(&err)
		switch {
		case b.ctx.Err() != nil:
			return
		case err == nil, errors.Is(err, ErrPartial) && b.back.Swap(false):
			b.courier.restart()
			b.owned.rescan()
		}
		switch why := fmt.Sprint(err); {
		case err == nil && said != "":
			b.cfg.Log.Info("bus is complete again")
			said = ""
		case err != nil && why != said && !errors.Is(err, nats.ErrDisconnected): // that was logged when it happened
			b.cfg.Log.Warn("bus is incomplete; trying again", "err", err)
			said = why
		}
		if err != nil {
			b.damaged()
		}
		_ = pause.Wait(b.ctx, repairEvery)
	}
}

// ensure creates the stream and the bucket if they are missing. In a cluster they are stored on several nodes, or on
// one if there are not enough.
func (b *Bus) ensure(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if !b.conn.IsConnected() { // it would not be known how many nodes the server has
		return nats.ErrDisconnected
	}
	if b.conn.ConnectedClusterName() == "" {
		return b.ensureOn(ctx, 1)
	}
	err := b.ensureIn(ctx, clusterCopies)
	if refused, ok := errors.AsType[*jetstream.APIError](err); errors.Is(err, context.DeadlineExceeded) || ok && refused.ErrorCode == noLeader {
		return fmt.Errorf("%w (%w)", errNoQuorum, err)
	}
	return err
}

// ensureIn is ensureOn in a cluster, where a request is lost without an answer if it comes while the nodes connect or elect a
// leader: one without an answer is made again, within the time of the caller. A stream whose name is taken but that is not
// found is still being created.
func (b *Bus) ensureIn(ctx context.Context, copies int) error {
	for {
		try, cancel := context.WithTimeout(ctx, clusterTimeout)
		err := b.ensureOn(try, copies)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, jetstream.ErrStreamNotFound) {
			return err
		}
		if pause.Wait(ctx, repairEvery) != nil {
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		}
	}
}

// ErrPartial means that the server has all that messages need, but not all that live events and steps of exchanges between
// agents need, for which its memory or its disk may be too full.
var ErrPartial = errors.New("all other work continues")

// ensureOn begins with what all work needs.
func (b *Bus) ensureOn(ctx context.Context, number int) error {
	if !b.solo() {
		if err := b.copies.make(leasesBucket, number, func(number int) error { return b.ensureLeases(ctx, number) }); err != nil {
			return err
		}
	}
	events := b.copies.make(eventsStream, number, func(number int) error { return b.ensureEvents(ctx, number) })
	steps := b.copies.make(stepsStream, number, func(number int) error { return b.courier.ensure(ctx, number) })
	if err := errors.Join(events, steps); err != nil {
		return fmt.Errorf("%w; %w", err, ErrPartial)
	}
	return nil
}

// copies makes things on several nodes of a cluster, or on one if there are not enough. One check at a time uses it.
type copies struct {
	log    *slog.Logger
	single map[string]bool // what is on one node only
}

// make calls ensure with the number of copies, and again with one if the cluster has too few nodes for it.
func (c *copies) make(name string, number int, ensure func(number int) error) error {
	err := ensure(number)
	// A node that led the cluster refuses for a while to serve what it has lost the quorum for.
	if refused, ok := errors.AsType[*jetstream.APIError](err); ok && refused.ErrorCode == noSuitablePeers && number > 1 {
		if !c.single[name] {
			c.log.Warn("the NATS cluster has too few nodes with space to survive the loss of one", "name", name, "want", number)
			c.single[name] = true
		}
		err = ensure(1)
	} else if err == nil {
		delete(c.single, name)
	}
	if err != nil {
		return fmt.Errorf("make %s: %w", name, err)
	}
	return nil
}

// ensureEvents numbers a new stream from the clock, so that numbers grow over restarts and a number that a reader has
// kept never hides later events.
func (b *Bus) ensureEvents(ctx context.Context, copies int) error {
	cfg := jetstream.StreamConfig{
		Name: eventsStream, Subjects: []string{eventsSubject + "*"}, Storage: jetstream.MemoryStorage, Replicas: copies,
		MaxMsgsPerSubject: eventsPerSession, MaxAge: eventsAge, MaxBytes: eventsBytes, Discard: jetstream.DiscardOld,
		NoAck:    true, // an event is not worth the wait for its acknowledgement
		FirstSeq: uint64(b.cfg.Now().UnixMicro()),
	}
	found, err := b.js.Stream(ctx, eventsStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		found, err = b.js.CreateStream(ctx, cfg)
	}
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another replica was faster
		found, err = b.js.Stream(ctx, eventsStream)
	}
	if err != nil {
		return err
	}
	created := found.CachedInfo().Created
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.events != nil {
		if b.events.created.Equal(created) {
			return nil
		}
		b.events.end()
	}
	b.events = &stream{Stream: found, created: created}
	b.events.life, b.events.end = context.WithCancel(b.ctx)
	return nil
}

// ensureLeases finds out how old the bucket is. While it is young, this replica takes no lease that another one may
// have from the previous bucket and still rely on.
func (b *Bus) ensureLeases(ctx context.Context, copies int) error {
	leases, err := b.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: leasesBucket, TTL: leaseTTL, Storage: jetstream.MemoryStorage, Replicas: copies,
	})
	if err != nil {
		return err
	}
	backing, err := b.js.Stream(ctx, "KV_"+leasesBucket)
	if err != nil {
		return err
	}
	info := backing.CachedInfo() // both times are the server's
	b.leases.use(leases, info.Created, time.Now().Add(youth(info.TimeStamp.Sub(info.Created))))
	return nil
}

// youth is for how long a bucket of an age is still young. Its age is negative if the server's clock was set back.
func youth(age time.Duration) time.Duration { return min(leaseTrust, leaseTrust-age) }
