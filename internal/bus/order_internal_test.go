package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/sessions"
)

// world has replicas that compete for one partition, a NATS server and a database. Each request waits until the test carries it
// out, so that the test decides about their order, and about who is frozen: a request that was sent is carried out later, also if
// its sender no longer waits for it.
type world struct {
	late      bool // take with the epoch from after the lease: the wrong order
	unnoticed bool // nobody says that its writes are refused

	mu      sync.Mutex
	pending []*request
	closed  chan struct{}

	bucket  time.Time // when the server made it
	seq     uint64
	holder  *entrant // of the lease at the server; nil: nobody
	held    uint64   // the revision of the lease
	expires time.Time

	epoch    int64 // in the database
	lost     bool  // the database has lost a take
	accepted []int64
	writers  map[int64]*entrant // whose writes were accepted with an epoch
	twice    bool               // two replicas wrote with the same epoch
}

// request is one of a replica that waits.
type request struct {
	by   *entrant
	do   func() (uint64, error)
	n    uint64
	err  error
	done chan struct{}
}

// entrant is a replica. It is the owner of its bus, and its view of the bucket.
type entrant struct {
	*Bus
	*world
	name   string
	rival  string // a replica that should have the partition instead, if this one hears of it
	wg     sync.WaitGroup
	stop   context.CancelFunc
	frozen bool // its requests are not carried out

	lease context.Context // of the partition that it has; guarded by world.mu, as is mine
	mine  int64           // its epoch; 0: it does not have the partition
}

func newWorld(t *testing.T, replicas int) (*world, []*entrant) {
	t.Helper()
	w := &world{closed: make(chan struct{}), bucket: time.Now().Add(-time.Hour), writers: map[int64]*entrant{}}
	var all []*entrant
	for i := range replicas {
		e := &entrant{world: w, name: string(rune('a' + i))}
		ctx, stop := context.WithCancel(context.Background())
		e.stop = stop
		log := slog.New(slog.DiscardHandler)
		e.Bus = &Bus{
			cfg: Config{URL: "nats://one", Replica: e.name, Log: log}, ctx: ctx, soft: context.Background(), Replicas: newReplicas(e.name, time.Now), owned: newOwned(log),
			subscribe: func(int) (func(), error) { return func() {}, nil }, readSteps: func(ctx context.Context, _ int) { <-ctx.Done() },
			leases: &leases{
				replica: e.name, bucket: e, lost: prometheus.NewCounter(prometheus.CounterOpts{Name: "lost"}), log: log,
				held: map[string]*lease{}, ended: map[string]time.Time{}, damaged: func() { e.wg.Go(e.look) },
			},
		}
		for n := 0; e.rival == ""; n++ {
			r := newReplicas(e.name, time.Now)
			r.heard(e.name)
			r.heard(fmt.Sprint("rival", n))
			if mine, _, _ := r.mine(0); !mine {
				e.rival = fmt.Sprint("rival", n)
			}
		}
		e.owned.by(e)
		e.Replicas.heard(e.rival)
		e.Replicas.heard(e.name)
		e.wg.Go(func() { e.runPartition(0) })
		e.wg.Go(func() {
			for ctx.Err() == nil {
				select {
				case <-time.After(renewEvery):
					e.leases.renewAll(ctx)
				case <-ctx.Done():
				}
			}
		})
		all = append(all, e)
	}
	t.Cleanup(func() {
		for _, e := range all {
			e.Replicas.leave()
			e.stop()
		}
		close(w.closed)
		for _, e := range all {
			e.wg.Wait()
			e.Bus.wg.Wait()
		}
	})
	return w, all
}

// want says whether a replica should have the partition, as it sees it.
func (e *entrant) want(yes bool) {
	message := e.rival
	if yes {
		message = farewell + e.rival
	}
	e.Replicas.heard(message)
}

// ask waits until the test carries a request out, or until ctx ends; the request is then still under way.
func (e *entrant) ask(ctx context.Context, do func() (uint64, error)) (uint64, error) {
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	r := &request{by: e, do: do, done: make(chan struct{})}
	e.world.mu.Lock()
	e.pending = append(e.pending, r)
	e.world.mu.Unlock()
	select {
	case <-r.done:
		return r.n, r.err
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-e.closed:
		return 0, errClosed
	}
}

// waiting are the requests that can be carried out: the next one of each replica that is not frozen.
func (w *world) waiting() []*request {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.pending), func(r *request) bool { return r.by.frozen })
}

func (w *world) carryOut(r *request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending = slices.DeleteFunc(w.pending, func(o *request) bool { return o == r })
	r.n, r.err = r.do()
	close(r.done)
}

func (w *world) carryOutAll() {
	for next := w.waiting(); len(next) > 0; next = w.waiting() {
		w.carryOut(next[0])
	}
}

// expire ends the lease at the server, also one whose holder trusts it: a clock that stands still does not see it end.
func (w *world) expire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.holder = nil
}

// forget is a restart of the server.
func (w *world) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.holder, w.bucket = nil, time.Now()
}

// lose takes the last take from the database, as a standby does that had not got it yet.
func (w *world) lose() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost, w.epoch = true, max(w.epoch-1, 0)
}

// look learns how old the server's bucket is.
func (e *entrant) look() {
	if _, err := e.ask(e.Bus.ctx, func() (uint64, error) { return 0, nil }); err == nil {
		e.world.mu.Lock()
		created := e.world.bucket
		e.world.mu.Unlock()
		e.leases.use(e, created, created.Add(leaseTrust))
	}
}

func (w *world) holds() *entrant {
	if time.Now().After(w.expires) {
		w.holder = nil
	}
	return w.holder
}

func (w *world) grant(e *entrant) (uint64, error) {
	w.seq++
	w.holder, w.held, w.expires = e, w.seq, time.Now().Add(leaseTTL)
	return w.seq, nil
}

func (e *entrant) Get(ctx context.Context, _ string) (jetstream.KeyValueEntry, error) {
	_, err := e.ask(ctx, func() (uint64, error) {
		if e.holds() == nil {
			return 0, jetstream.ErrKeyNotFound
		}
		return 0, nil
	})
	return nil, err
}

func (e *entrant) Create(ctx context.Context, _ string, _ []byte, _ ...jetstream.KVCreateOpt) (uint64, error) {
	return e.ask(ctx, func() (uint64, error) {
		if e.holds() != nil {
			return 0, jetstream.ErrKeyExists
		}
		return e.grant(e)
	})
}

func (e *entrant) Update(ctx context.Context, _ string, _ []byte, revision uint64) (uint64, error) {
	return e.ask(ctx, func() (uint64, error) {
		if e.holds() == nil || e.held != revision {
			return 0, jetstream.ErrKeyRevisionMismatch
		}
		return e.grant(e)
	})
}

// Delete gives the lease of e back: the fake server knows its revision by its holder.
func (e *entrant) Delete(ctx context.Context, _ string, _ ...jetstream.KVDeleteOpt) error {
	_, err := e.ask(ctx, func() (uint64, error) {
		if e.holds() == e {
			e.holder = nil
		}
		return 0, nil
	})
	return err
}

// Epoch reads the database.
func (e *entrant) Epoch(ctx context.Context, _ int) (int64, error) {
	n, err := e.ask(ctx, func() (uint64, error) { return uint64(e.epoch), nil })
	return int64(n), err
}

func (e *entrant) Acquire(ctx context.Context, _ int, before int64) error {
	if e.late {
		var err error
		if before, err = e.Epoch(ctx, 0); err != nil {
			return err
		}
	}
	n, err := e.ask(ctx, func() (uint64, error) {
		if e.epoch != before {
			return 0, sessions.ErrConflict
		}
		e.epoch++
		return uint64(e.epoch), nil
	})
	if err != nil {
		return err
	}
	e.world.mu.Lock()
	defer e.world.mu.Unlock()
	e.lease, e.mine = ctx, int64(n)
	return nil
}

func (e *entrant) Release(context.Context, int) {
	e.world.mu.Lock()
	defer e.world.mu.Unlock()
	e.mine = 0
}

func (*entrant) Woken(int, sessions.Lane)    {}
func (*entrant) Stepped(int, []byte, func()) {}
func (*entrant) Rescan(int)                  {}
func (e *entrant) String() string            { return e.name }
func (w *world) read(value func() bool) bool { w.mu.Lock(); defer w.mu.Unlock(); return value() }
func (e *entrant) owns() bool                { return e.read(func() bool { return e.mine > 0 }) }

// write stores something as the owner, if e is one. As a lane does, it says if the write is refused although it has the lease.
func (e *entrant) write() {
	e.world.mu.Lock()
	mine, lease, epoch := e.mine, e.lease, e.epoch
	if mine > 0 && mine == epoch {
		e.accepted = append(e.accepted, mine)
		e.twice = e.twice || e.writers[mine] != nil && e.writers[mine] != e
		e.writers[mine] = e
	}
	e.world.mu.Unlock()
	if mine > 0 && mine != epoch && lease.Err() == nil && !e.unnoticed {
		e.Fenced(0)
	}
}

// rest lets everything go on until nothing changes any more, with one replica that wants the partition, and returns what is
// wrong then.
func (w *world) rest(all []*entrant, last *entrant) error {
	for _, e := range all {
		e.frozen = false
	}
	w.carryOutAll() // before the replicas hear of each other
	for _, e := range all {
		e.want(e == last)
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		w.carryOutAll()
		for _, e := range all {
			e.write()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range all {
		if owns := e.mine > 0; owns != (e == last) {
			return fmt.Errorf("%s has the partition: %v", e, owns)
		}
	}
	switch {
	case w.holds() != last:
		return fmt.Errorf("the lease has %v instead of %s", w.holder, last)
	case last.mine != w.epoch:
		return fmt.Errorf("%s has the lease and epoch %d, the database has epoch %d", last, last.mine, w.epoch)
	case last.lease.Err() != nil:
		return errors.New("the owner believes that its lease has ended")
	case !w.lost && !slices.IsSorted(w.accepted):
		return fmt.Errorf("writes of two epochs alternate: %v", w.accepted)
	}
	return nil
}

// orders are how often something happens in a random order.
type orders struct{ forget, lose int }

// order lets replicas compete in a random order, with freezes and clocks that stand still, and returns what is wrong in the end.
func order(t *testing.T, seed uint64, prepare func(*world), often orders) (wrong error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(seed, 1))
		w, all := newWorld(t, 2+rng.IntN(2))
		prepare(w)
		for _, e := range all {
			e.want(true)
		}
		for range 120 {
			e := all[rng.IntN(len(all))]
			switch n := rng.IntN(100); {
			case n < 60:
				if next := w.waiting(); len(next) > 0 {
					w.carryOut(next[rng.IntN(len(next))])
				}
			case n < 74:
				time.Sleep(time.Duration(rng.Int64N(int64(1500 * time.Millisecond))))
			case n < 80:
				e.frozen = !e.frozen
			case n < 84:
				w.expire()
			case n < 90:
				e.want(rng.IntN(2) == 0)
			case n < 90+often.forget:
				w.forget()
			case n < 90+often.forget+often.lose:
				w.lose()
			default:
				e.write()
			}
		}
		wrong = w.rest(all, all[rng.IntN(len(all))])
		if !w.lost && w.twice {
			wrong = errors.Join(wrong, errors.New("two replicas wrote with the same epoch"))
		}
	})
	return wrong
}

const seeds = 400

// In whatever order the requests of replicas are carried out, and whoever is frozen in between: at rest, the replica that has the
// lease has the epoch, and can write. Nobody needs to notice that a write is refused.
func TestWhoHasTheLeaseHasTheEpoch(t *testing.T) {
	t.Parallel()
	for seed := range uint64(seeds) {
		require.NoError(t, order(t, seed, func(w *world) { w.unnoticed = true }, orders{}), "seed %d", seed)
	}
}

// The same holds if the server forgets the leases, or the database a take, as long as a refused write is noticed.
func TestWhatIsForgottenIsTakenAgain(t *testing.T) {
	t.Parallel()
	for seed := range uint64(seeds) {
		require.NoError(t, order(t, seed, func(*world) {}, orders{forget: 2, lose: 2}), "seed %d", seed)
	}
}

// A replica is frozen at each of its requests, until another one has the partition: at rest there is one owner, who has the epoch.
func TestFrozenAtEachRequest(t *testing.T) {
	t.Parallel()
	for _, wrong := range frozenAtEach(t, false) {
		require.NoError(t, wrong)
	}
}

// frozenAtEach returns what is wrong at rest for each request at which a replica is frozen, with a clock that goes on or stands
// still meanwhile, and with it or the other one as the owner in the end.
func frozenAtEach(t *testing.T, late bool) (wrong []error) {
	t.Helper()
	const requests = 12 // until it has renewed its lease some times
	for i := range requests * 4 {
		at, clockStands, last := i/4, i%2 == 1, i/2%2
		synctest.Test(t, func(t *testing.T) {
			w, all := newWorld(t, 2)
			w.unnoticed, w.late = true, late
			all[0].want(true)
			for range at {
				for len(w.waiting()) == 0 {
					time.Sleep(renewEvery)
				}
				w.carryOut(w.waiting()[0])
			}
			all[0].frozen = true
			w.waiting()
			if clockStands {
				w.expire()
			} else {
				time.Sleep(leaseTTL)
			}
			all[1].want(true)
			for range 100 {
				for _, r := range w.waiting() {
					w.carryOut(r)
				}
				if all[1].owns() {
					break
				}
				time.Sleep(tryEvery)
			}
			if err := w.rest(all, all[last]); err != nil {
				wrong = append(wrong, fmt.Errorf("frozen at request %d, its clock stands: %v: %w", at, clockStands, err))
			}
		})
	}
	return wrong
}

// The tests above find the faults of other orders: of a take with the epoch from after the lease is granted, and of gateways that
// do not notice what the server or the database has forgotten.
func TestOtherOrdersAreWrong(t *testing.T) {
	t.Parallel()
	require.NotEmpty(t, frozenAtEach(t, true))
	wrong := 0
	for seed := range uint64(seeds) {
		if order(t, seed, func(w *world) { w.unnoticed = true }, orders{forget: 2, lose: 2}) != nil {
			wrong++
		}
	}
	require.Positive(t, wrong)
}
