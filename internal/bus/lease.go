package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"sluice/internal/pause"
)

const (
	leaseTTL = 5 * time.Second // at the server
	// leaseTrust is how long a replica relies on a lease, counted from before its request.
	leaseTrust = 4 * time.Second
	renewEvery = time.Second
	// tryEvery is the pause between tries to get a lease that another replica has.
	tryEvery = 300 * time.Millisecond
	// endPause is the least time between two ends of the same lease by [leases.end]: each interrupts work.
	endPause = 30 * time.Second
)

// errLost is the cause with which a lease's context ends if it was not renewed in time.
var errLost = errors.New("lease was lost")

// errFenced is the cause if the database has another epoch than the partition's owner.
var errFenced = errors.New("the database has another owner of the partition")

// keyValues is the bucket of leases. Each request that changes a key compares its revision.
type keyValues interface {
	Get(ctx context.Context, key string) (jetstream.KeyValueEntry, error)
	Create(ctx context.Context, key string, value []byte, opts ...jetstream.KVCreateOpt) (uint64, error)
	Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
	Delete(ctx context.Context, key string, opts ...jetstream.KVDeleteOpt) error
}

// leases has the leases of this replica. It is safe for concurrent use. A lease that has ended at the server is requested
// again, by [leases.acquire], so that the partition is taken again too: see docs/decisions/0024-the-epoch-before-the-lease.md.
type leases struct {
	replica string
	damaged func() // asks for a check whether the server still has everything
	lost    prometheus.Counter
	log     *slog.Logger

	mu      sync.Mutex
	bucket  keyValues
	created time.Time // when the server made the bucket
	quiet   time.Time // until then the server's bucket is young: only who had a lease in the bucket before gets it
	doubt   bool      // the connection was lost since: the bucket may be another one, and young
	turn    int       // counts what makes a lease doubtful that is being requested
	held    map[string]*lease
	ended   map[string]time.Time // when each lease was last ended by [leases.end]
	said    map[string]string    // what this replica says with its leases
	heard   map[string]string    // what other replicas say with theirs
}

// lease is a lease of this replica.
type lease struct {
	key    string
	cancel context.CancelCauseFunc
	expiry *time.Timer // ends the trust

	asking   chan struct{} // capacity 1: full during a renewal, which the release waits for
	revision uint64        // guarded by asking
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
	held, l := b.leases.acquire(ctx, name, standby, func(context.Context) bool { return true })
	if l == nil {
		return nil
	}
	defer b.leases.release(l)
	return hold(held)
}

// Say says something short to the replicas that wait for a lease of this replica, with its next renewal.
func (b *Bus) Say(name, text string) { b.leases.say(name, text) }

// Said returns what the replica that has a lease says to this one, which waits for it.
func (b *Bus) Said(name string) string {
	b.leases.mu.Lock()
	defer b.leases.mu.Unlock()
	return b.leases.heard[name]
}

func (s *leases) say(key, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.said == nil {
		s.said = map[string]string{}
	}
	s.said[key] = text
	if text == "" {
		delete(s.said, key)
	}
}

// value is what is stored with a lease: the replica, and in further lines what it says.
func (s *leases) value(key string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text := s.said[key]; text != "" {
		return []byte(s.replica + "\n" + text)
	}
	return []byte(s.replica)
}

// hear notes what the replica that has a lease says.
func (s *leases) hear(key string, entry jetstream.KeyValueEntry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.heard, key)
	if entry == nil {
		return
	}
	if _, text, found := strings.Cut(string(entry.Value()), "\n"); found {
		if s.heard == nil {
			s.heard = map[string]string{}
		}
		s.heard[key] = text
	}
}

// use sets the bucket of the server, which was created then and is young until quiet. A bucket that is known and not doubtful
// becomes no younger.
func (s *leases) use(bucket keyValues, created, quiet time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bucket = bucket
	if created.Equal(s.created) && !s.doubt {
		return
	}
	s.created, s.quiet, s.doubt = created, quiet, false
	s.turn++
}

// distrust keeps this replica from taking leases until [leases.use]: a server that has restarted may have a new bucket, made
// by a replica that was faster, in which the leases that others still rely on are missing.
func (s *leases) distrust() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doubt = true
	s.turn++
}

// state returns the bucket, how long it stays young, and whether it is doubtful. turn is for [leases.turned].
func (s *leases) state() (bucket keyValues, quiet time.Duration, doubt bool, turn int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bucket, time.Until(s.quiet), s.doubt, s.turn
}

// turned reports whether the bucket may have become another one since a turn.
func (s *leases) turned(turn int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turn != turn
}

// acquire waits until it has the lease, and returns nil if ctx ends first. It calls ready before each request for the lease.
// If ready returns false, acquire starts again; ready waits before it does so.
func (s *leases) acquire(ctx context.Context, key string, standby func(), ready func(ctx context.Context) bool) (context.Context, *lease) {
	taken := false // by another replica, at the last try
	for ctx.Err() == nil {
		bucket, quiet, doubt, turn := s.state()
		if quiet > 0 || doubt {
			_ = pause.Wait(ctx, max(quiet, tryEvery))
			continue
		}
		// All other replicas try again and again, and a read costs the servers less than a write that fails.
		if taken && s.has(ctx, bucket, key) {
			standby()
			_ = pause.Wait(ctx, tryEvery)
			continue
		}
		if !ready(ctx) || s.turned(turn) {
			continue
		}
		asked := time.Now() // the trust starts before the request
		revision, err := s.create(ctx, bucket, key)
		taken = errors.Is(err, jetstream.ErrKeyExists)
		if err == nil && time.Since(asked) < leaseTrust && !s.turned(turn) { // otherwise it ends by itself: the bucket may be another one
			return s.keep(ctx, key, revision, asked)
		}
		switch {
		case taken:
			standby()
		case err != nil && ctx.Err() == nil:
			s.log.Debug("could not request a lease", "lease", key, "err", err)
			s.damaged()
		}
		_ = pause.Wait(ctx, tryEvery)
	}
	return nil, nil
}

// has reports whether a replica has a lease, and notes what it says.
func (s *leases) has(ctx context.Context, bucket keyValues, key string) bool {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	entry, err := bucket.Get(ctx, key)
	s.hear(key, entry)
	return err == nil
}

func (s *leases) create(ctx context.Context, bucket keyValues, key string) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return bucket.Create(ctx, key, s.value(key))
}

// keep registers a lease, so that it is renewed.
func (s *leases) keep(ctx context.Context, key string, revision uint64, asked time.Time) (context.Context, *lease) {
	held, cancel := context.WithCancelCause(ctx)
	l := &lease{key: key, revision: revision, cancel: cancel, asking: make(chan struct{}, 1)}
	l.expiry = time.AfterFunc(leaseTrust-time.Since(asked), func() {
		s.lost.Inc()
		cancel(errLost)
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[key] = l
	delete(s.heard, key)
	return held, l
}

// end ends a lease of this replica, so that its holder gives it back, at most once in endPause.
func (s *leases) end(key string, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.held[key]
	if last, before := s.ended[key]; l == nil || before && time.Since(last) < endPause {
		return
	}
	s.ended[key] = time.Now()
	l.cancel(cause)
}

// release gives a lease back, so that another replica need not wait until it expires.
func (s *leases) release(l *lease) {
	s.mu.Lock()
	delete(s.held, l.key)
	bucket := s.bucket
	s.mu.Unlock()
	l.expiry.Stop()
	l.cancel(nil)
	l.asking <- struct{}{}
	defer func() { <-l.asking }()
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	if err := bucket.Delete(ctx, l.key, jetstream.LastRevision(l.revision)); err != nil {
		s.log.Debug("could not release a lease; it expires on its own", "lease", l.key, "err", err)
	}
}

// renewAll renews the leases in parallel, so that a slow answer delays no other lease.
func (s *leases) renewAll(ctx context.Context) {
	s.mu.Lock()
	held := slices.Collect(maps.Values(s.held))
	s.mu.Unlock()
	var all sync.WaitGroup
	for _, l := range held {
		all.Go(func() { s.renew(ctx, l) })
	}
	all.Wait()
}

// renew extends a lease. If the server has lately forgotten all leases, the lease is requested again; this fails if another
// replica has it. Otherwise a lease that has ended at the server is lost: another replica may have had it since.
func (s *leases) renew(ctx context.Context, l *lease) {
	l.asking <- struct{}{}
	defer func() { <-l.asking }()
	if !s.holds(l) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	bucket, quiet, _, _ := s.state()
	asked := time.Now()
	next, err := bucket.Update(ctx, l.key, s.value(l.key), l.revision)
	if err != nil && quiet > 0 {
		asked = time.Now()
		next, err = bucket.Create(ctx, l.key, s.value(l.key))
	}
	if err != nil { // the trust expires unless the next try succeeds
		if quiet <= 0 || !errors.Is(err, jetstream.ErrKeyExists) {
			s.damaged() // perhaps the server has forgotten the leases
		}
		return
	}
	l.revision = next // also if it is too late, for the release
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[l.key] == l && l.expiry.Stop() {
		l.expiry.Reset(leaseTrust - time.Since(asked))
	}
}

// holds reports whether a lease was not given back yet.
func (s *leases) holds(l *lease) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[l.key] == l
}
