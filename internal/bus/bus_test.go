package bus_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/internal/bus"
	"sluice/sessions"
)

// A server of a cluster that is stopped while it creates a consumer forgets to release that consumer's log, and with it the
// clock that all servers of a process share.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server/ats.Register.func1"),
		// A server that is stopped while it creates a stream forgets the stream's file, with this goroutine. A server that was not
		// stopped has others, too.
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server.(*fileStore).flushStreamStateLoop"),
	)
}

const (
	partitions = 8
	patience   = 30 * time.Second // a wait that is longer than this is a failure
)

// owner records what it owns, and what was woken.
type owner struct {
	mu     sync.Mutex
	name   string
	owned  map[int]bool
	scans  int
	woken  chan sessions.Lane
	steps  chan step
	change chan struct{} // gets one for each change, as far as there is room
	board  *board
	refuse int // this many acquisitions fail
}

// board watches that no partition has two owners.
type board struct {
	mu     sync.Mutex
	owners map[int]map[string]bool
	double []string
}

func newOwner(name string, b *board) *owner {
	return &owner{name: name, owned: map[int]bool{}, woken: make(chan sessions.Lane, 1000), steps: make(chan step, 1000), change: make(chan struct{}, 1000), board: b}
}

func (*owner) Epoch(context.Context, int) (int64, error) { return 0, nil }

func (o *owner) Acquire(ctx context.Context, p int, _ int64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.refuse > 0 {
		o.refuse--
		if o.refuse%2 == 1 {
			panic("owner panics")
		}
		return errors.New("not now")
	}
	o.owned[p] = true
	o.board.set(p, o.name, true)
	context.AfterFunc(ctx, func() { o.board.set(p, o.name, false) })
	o.change <- struct{}{}
	return nil
}

func (b *board) set(p int, name string, on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.owners[p] == nil {
		b.owners[p] = map[string]bool{}
	}
	if !on {
		delete(b.owners[p], name)
		return
	}
	b.owners[p][name] = true
	if len(b.owners[p]) > 1 {
		b.double = append(b.double, fmt.Sprint(p, b.owners[p]))
	}
}

func (o *owner) Release(_ context.Context, p int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.owned, p)
	o.change <- struct{}{}
}

func (o *owner) Woken(_ int, lane sessions.Lane) { o.woken <- lane }

func (o *owner) Stepped(p int, text []byte, ack func()) { o.steps <- step{p, string(text), ack} }

// step is a step that an owner was given.
type step struct {
	partition int
	text      string
	ack       func()
}

func (o *owner) Rescan(int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.scans++
	o.change <- struct{}{}
}

func (o *owner) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.owned)
}

// until waits till ok, looking again at each change of any of the owners.
func until(t *testing.T, ok func() bool, owners ...*owner) {
	t.Helper()
	deadline := time.After(patience)
	for !ok() {
		var other <-chan struct{}
		if len(owners) > 1 {
			other = owners[1].change
		}
		select {
		case <-owners[0].change:
		case <-other:
		case <-deadline:
			t.Fatal("it did not come to pass")
		}
	}
}

func start(t *testing.T, url, name string) *bus.Bus {
	t.Helper()
	return startWith(t, url, name, prometheus.NewRegistry())
}

func startWith(t *testing.T, url, name string, registry *prometheus.Registry, log ...io.Writer) *bus.Bus {
	t.Helper()
	b, err := bus.Start(t.Context(), bus.Config{
		URL: url, Dir: t.TempDir(), Partitions: partitions, Replica: name, Now: time.Now, Registerer: registry,
		Log: slog.New(slog.NewTextHandler(io.MultiWriter(log...), &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	require.NoError(t, err)
	t.Cleanup(func() { b.Stop(context.Background()) })
	return b
}

// cluster is a NATS server with a port.
type cluster struct {
	t    *testing.T
	port int
	*server.Server
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, port: freePorts(t, 1)[0]}
	c.start()
	t.Cleanup(c.stop)
	return c
}

func (c *cluster) start() {
	c.t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: c.port, JetStream: true, StoreDir: c.t.TempDir(), NoSigs: true, NoLog: true})
	require.NoError(c.t, err)
	s.Start()
	require.True(c.t, s.ReadyForConnections(patience))
	c.Server = s
}

func (c *cluster) stop() {
	c.Shutdown()
	c.WaitForShutdown()
}

func (c *cluster) url() string { return "nats://127.0.0.1:" + strconv.Itoa(c.port) }

func TestEmbeddedOwnsAllAtOnce(t *testing.T) {
	t.Parallel()
	b := start(t, "", "one")
	o := newOwner("one", &board{owners: map[int]map[string]bool{}})
	require.NoError(t, b.Own(t.Context(), o))
	require.Equal(t, partitions, o.count())
	require.NoError(t, b.Ready())
	b.Wake(3, "sess_1")
	require.Equal(t, sessions.Lane("sess_1"), receive(t, o.woken))

	enough := errors.New("enough")
	require.ErrorIs(t, b.Lease(t.Context(), "adapter", func() {}, func(context.Context) error { return enough }), enough, "it is held at once")
	b.Handover(t.Context())
	require.Zero(t, o.count())
	b.Stop(t.Context())
	b.Stop(t.Context())
	require.Error(t, b.Ready())
}

func TestEventsAreFollowedAndResumed(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", newCluster(t).url()} {
		b := start(t, url, "one")
		ctx, cancel := context.WithCancel(t.Context())
		live, err := b.Follow(ctx, "sess_1", 0)
		require.NoError(t, err)
		for i := range 20 {
			b.Emit(sessions.Event{Session: "sess_1", Type: sessions.EventDelta, Text: fmt.Sprint(i)})
			b.Emit(sessions.Event{Session: "sess_2", Type: sessions.EventDelta, Text: "another's"})
		}
		var middle uint64
		for i := range 20 {
			e := receive(t, live)
			require.Equal(t, fmt.Sprint(i), e.Text)
			if i == 10 {
				middle = e.Seq
			}
		}
		cancel()
		_, open := <-live
		require.False(t, open)
		rest, err := b.Follow(t.Context(), "sess_1", middle)
		require.NoError(t, err)
		require.Equal(t, "11", receive(t, rest).Text, "a reader that comes back gets what it missed")
		ahead, err := b.Follow(t.Context(), "sess_1", 1_000_000)
		require.NoError(t, err)
		require.Equal(t, "0", receive(t, ahead).Text, "a number from an earlier server's life starts over")
	}
}

// A follower without a number begins behind all that was emitted before, even while that is on its way to the server.
func TestFollowersBeginNow(t *testing.T) {
	t.Parallel()
	b := start(t, "", "one")
	for n := range 20 {
		id := sessions.ID("sess_" + strconv.Itoa(n))
		for range 200 {
			b.Emit(sessions.Event{Session: id, Type: sessions.EventDelta, Text: "before"})
		}
		events, err := b.Follow(t.Context(), id, 0)
		require.NoError(t, err)
		b.Emit(sessions.Event{Session: id, Type: sessions.EventDelta, Text: "after"})
		require.Equal(t, "after", receive(t, events).Text)
	}
}

// A follower that has left costs the server nothing more: each request that waits for a run follows its session.
func TestAFollowerLeavesNothingOnTheServer(t *testing.T) {
	t.Parallel()
	url := newCluster(t).url()
	b := start(t, url, "one")
	conn, err := nats.Connect(url)
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	removed := make(chan *nats.Msg, 1)
	_, err = conn.ChanSubscribe("$JS.EVENT.ADVISORY.CONSUMER.DELETED.SLUICE_EVENTS.>", removed)
	require.NoError(t, err)
	require.NoError(t, conn.Flush())
	ctx, leave := context.WithCancel(t.Context())
	events, err := b.Follow(ctx, "sess_1", 0)
	require.NoError(t, err)
	leave()
	_, open := <-events
	require.False(t, open)
	receive(t, removed)
}

func TestSlowReaderIsCutOff(t *testing.T) {
	t.Parallel()
	registry, letGo := prometheus.NewRegistry(), newSaid("too slow")
	b := startWith(t, "", "one", registry, letGo)
	events, err := b.Follow(t.Context(), "sess_1", 0)
	require.NoError(t, err)
	for range 2 * cap(events) {
		b.Emit(sessions.Event{Session: "sess_1"})
	}
	receiveEnd(t, letGo.now) // nothing was read yet
	got, last := 0, uint64(0)
	for e := range events {
		require.Greater(t, e.Seq, last, "in order")
		got, last = got+1, e.Seq
	}
	require.Equal(t, cap(events), got)
	require.Zero(t, followers(t, registry))
}

// followers is how many live views there are, as operators see it.
func followers(t *testing.T, registry *prometheus.Registry) int {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == "sluice_bus_followers" {
			return int(f.GetMetric()[0].GetGauge().GetValue())
		}
	}
	t.Fatal("no such metric")
	return 0
}

func TestPartitionsMoveWithTheReplicas(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	watch := &board{owners: map[int]map[string]bool{}}
	first, one := start(t, c.url(), "one"), newOwner("one", watch)
	require.NoError(t, first.Own(t.Context(), one))
	until(t, func() bool { return one.count() == partitions }, one)

	second, two := start(t, c.url(), "two"), newOwner("two", watch)
	two.refuse = 2
	require.NoError(t, second.Own(t.Context(), two))
	until(t, func() bool { return two.count() > 0 && one.count()+two.count() == partitions }, one, two)

	for p := range partitions {
		first.Wake(p, "sess_x")
	}
	for range partitions {
		select {
		case <-one.woken:
		case <-two.woken:
		case <-time.After(patience):
			t.Fatal("a wake was not heard")
		}
	}

	begun := time.Now()
	first.Handover(t.Context())
	require.Zero(t, one.count())
	until(t, func() bool { return two.count() == partitions }, two)
	require.Less(t, time.Since(begun), 4*time.Second, "an orderly hand-over waits for no lease to end")
	require.Empty(t, watch.double)
}

func TestDeadReplicaIsReplaced(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	watch := &board{owners: map[int]map[string]bool{}}
	// The first replica reaches the server through a wire that is then cut, as if its machine had died.
	wire := newWire(t, c.port)
	first, one := start(t, wire.url(), "one"), newOwner("one", watch)
	require.NoError(t, first.Own(t.Context(), one))
	until(t, func() bool { return one.count() == partitions }, one)
	second, two := start(t, c.url(), "two"), newOwner("two", watch)
	require.NoError(t, second.Own(t.Context(), two))
	until(t, func() bool { return two.count() > 0 && one.count()+two.count() == partitions }, one, two)

	begun := time.Now()
	wire.cut()
	until(t, func() bool { return two.count() == partitions }, two)
	require.Less(t, time.Since(begun), 12*time.Second)
	until(t, func() bool { return one.count() == 0 }, one)
	require.Empty(t, watch.double, "the dead one had let go before the other took over")
}

// A partition for which the database has another epoch is given back and taken again: its owner can write nothing until then.
func TestAFencedPartitionIsTakenAnew(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	one := newOwner("one", &board{owners: map[int]map[string]bool{}})
	b := start(t, c.url(), "one")
	require.NoError(t, b.Own(t.Context(), one))
	until(t, func() bool { return one.count() == partitions }, one)
	for len(one.change) > 0 {
		<-one.change
	}
	for _, p := range []int{3, 4} {
		b.Fenced(3) // the second time is too soon
		b.Fenced(p)
		for range 2 { // given back, and taken
			select {
			case <-one.change:
			case <-time.After(patience):
				t.Fatal("the partition stays")
			}
		}
		require.Equal(t, partitions, one.count())
		require.Empty(t, one.change, "nothing else was given back")
	}
	b.Fenced(partitions) // not one of its own
}

// A replica answers each new one at once, so that the new one knows it, and misses it even if it dies before its next heartbeat.
func TestANewReplicaIsGreeted(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	b := start(t, c.url(), "a")
	require.NoError(t, b.Own(t.Context(), newOwner("a", &board{owners: map[int]map[string]bool{}})))
	conn, err := nats.Connect(c.url())
	require.NoError(t, err)
	defer conn.Close()
	members, err := conn.SubscribeSync("sluice.members")
	require.NoError(t, err)
	require.NoError(t, conn.Flush())
	began := time.Now()
	for i := range 20 { // as many heartbeats take 20 seconds
		require.NoError(t, conn.Publish("sluice.members", fmt.Appendf(nil, "new-%d", i)))
		for heard := ""; heard != "a"; {
			m, err := members.NextMsg(patience)
			require.NoError(t, err)
			heard = string(m.Data)
		}
	}
	require.Less(t, time.Since(began), 10*time.Second)
}

func TestServerRestart(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	watch := &board{owners: map[int]map[string]bool{}}
	b, o := start(t, c.url(), "one"), newOwner("one", watch)
	require.NoError(t, b.Own(t.Context(), o))
	until(t, func() bool { return o.count() == partitions }, o)
	c.stop()
	c.start()
	until(t, func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.scans >= partitions || (o.scans > 0 && len(o.owned) == partitions)
	}, o)
	until(t, func() bool { return o.count() == partitions && b.Ready() == nil }, o)

	events, err := b.Follow(t.Context(), "sess_1", 0)
	require.NoError(t, err)
	b.Emit(sessions.Event{Session: "sess_1", Text: "after"})
	require.Equal(t, "after", receive(t, events).Text)
	b.Wake(0, "sess_1")
	require.Equal(t, sessions.Lane("sess_1"), receive(t, o.woken))
}

func TestLeaseHasOneHolder(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	first, second := start(t, c.url(), "one"), start(t, c.url(), "two")
	for _, b := range []*bus.Bus{first, second} {
		require.NoError(t, b.Own(t.Context(), newOwner("x", &board{owners: map[int]map[string]bool{}})))
	}
	ctx, cancel := context.WithCancel(t.Context())
	holding, let := make(chan string, 10), make(chan struct{})
	waiting := make(chan string, 1)
	var wg sync.WaitGroup
	var holders sync.Mutex
	for name, b := range map[string]*bus.Bus{"one": first, "two": second} {
		wg.Go(func() {
			standby := func() {
				select {
				case waiting <- name:
				default:
				}
			}
			err := b.Lease(ctx, "adapter.x", standby, func(ctx context.Context) error {
				if !holders.TryLock() {
					panic("two holders")
				}
				defer holders.Unlock()
				holding <- name
				select {
				case <-let:
				case <-ctx.Done():
				}
				return nil
			})
			if err != nil {
				panic(err)
			}
		})
	}
	holder := receive(t, holding)
	require.NotEqual(t, holder, receive(t, waiting), "who waits is told that another one has it")
	let <- struct{}{}
	receive(t, holding)
	cancel()
	wg.Wait()
}

// All replicas but one wait for each lease: they read whether it is free, and write only if it is.
func TestWaitingForALeaseWritesNothing(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	holder, waiter := start(t, c.url(), "one"), start(t, c.url(), "two")
	conn, err := nats.Connect(c.url())
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	writes, err := conn.SubscribeSync("$KV.SLUICE_LEASES.adapter.x")
	require.NoError(t, err)
	require.NoError(t, conn.Flush())
	let, held := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(let)
	wg.Go(func() {
		err := holder.Lease(t.Context(), "adapter.x", func() {}, func(context.Context) error {
			close(held)
			<-let
			return errEnough
		})
		if !errors.Is(err, errEnough) {
			panic(err)
		}
	})
	receiveEnd(t, held)
	tries := make(chan struct{}, 100)
	wg.Go(func() {
		err := waiter.Lease(t.Context(), "adapter.x", func() { tries <- struct{}{} }, func(context.Context) error { return errEnough })
		if !errors.Is(err, errEnough) {
			panic(err)
		}
	})
	for range 4 {
		receive(t, tries)
	}
	require.NoError(t, conn.Flush())
	n, _, err := writes.Pending()
	require.NoError(t, err)
	require.Equal(t, 2, n, "the holder's, and the first try of the one that waits")
}

func TestUnreachableServerIsAClearError(t *testing.T) {
	t.Parallel()
	_, err := bus.Start(t.Context(), bus.Config{
		URL: "nats://127.0.0.1:1", Partitions: 1, Replica: "one", Now: time.Now,
		Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	require.ErrorContains(t, err, "bus.url")
}

func BenchmarkEmit(b *testing.B) {
	bus, err := bus.Start(b.Context(), bus.Config{
		Dir: b.TempDir(), Partitions: 1, Replica: "one", Now: time.Now, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	require.NoError(b, err)
	defer bus.Stop(context.Background())
	i := 0
	for b.Loop() {
		i++
		bus.Emit(sessions.Event{Session: sessions.ID(fmt.Sprint("sess_", i%1000)), Type: sessions.EventDelta, Text: "a piece of an answer"})
	}
}

// A gateway with the embedded server whose partition another gateway has taken says what is wrong and what to do: in the log once, and
// as long as it runs where its health is shown.
func TestAReplacedGatewayWithTheEmbeddedServerSaysSo(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	b := startWith(t, "", "one", prometheus.NewRegistry(), &log)
	require.NoError(t, b.Own(t.Context(), newOwner("one", &board{owners: map[int]map[string]bool{}})))
	require.NoError(t, b.Ready())
	b.Fenced(3)
	b.Fenced(4)
	require.ErrorContains(t, b.Ready(), "another gateway on the same database has taken over this one's work")
	require.ErrorContains(t, b.Ready(), "set bus.url to the same NATS server")
	require.Equal(t, 1, strings.Count(log.String(), "set bus.url to the same NATS server"))
}
