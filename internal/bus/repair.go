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
	whole := true
	for {
		select {
		case <-b.ctx.Done():
			return
		case <-b.repair:
		}
		err := b.ensure(b.ctx)
		b.mu.Lock()
		b.lacks = err
		b.mu.Unlock()
		switch {
		case b.ctx.Err() != nil:
			return
		case err != nil:
			if whole {
				b.cfg.Log.Warn("bus is incomplete; trying again", "err", err)
				whole = false
			}
			b.damaged()
		default:
			if !whole {
				b.cfg.Log.Info("bus is complete again")
				whole = true
			}
			b.courier.restart()
			b.owned.rescan()
		}
		_ = pause.Wait(b.ctx, repairEvery)
	}
}

// ensure creates the stream and the bucket if they are missing. In a cluster they are stored on several nodes, or on
// one if there are not enough.
func (b *Bus) ensure(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if b.conn.ConnectedClusterName() == "" {
		return b.ensureOn(ctx, 1)
	}
	err := b.ensureIn(ctx, clusterCopies)
	var refused *jetstream.APIError
	// A node that led the cluster refuses for a while to serve what it has lost the quorum for.
	if errors.As(err, &refused) && refused.ErrorCode == noSuitablePeers {
		b.cfg.Log.Warn("the NATS cluster has too few nodes to survive the loss of one", "want", clusterCopies)
		err = b.ensureIn(ctx, 1)
	}
	if errors.Is(err, context.DeadlineExceeded) || (errors.As(err, &refused) && refused.ErrorCode == noLeader) {
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

// ensureOn begins with what all work needs, and ends with what needs the server's disk, so that a full one stops only the steps
// between agents.
func (b *Bus) ensureOn(ctx context.Context, copies int) error {
	if !b.solo() {
		if err := b.ensureLeases(ctx, copies); err != nil {
			return fmt.Errorf("make bucket %s: %w", leasesBucket, err)
		}
	}
	if err := b.ensureEvents(ctx, copies); err != nil {
		return fmt.Errorf("make stream %s: %w", eventsStream, err)
	}
	if err := b.courier.ensure(ctx, copies); err != nil {
		return fmt.Errorf("make stream %s: %w", stepsStream, err)
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
	b.leases.use(leases, time.Now().Add(leaseTrust-info.TimeStamp.Sub(info.Created)))
	return nil
}
