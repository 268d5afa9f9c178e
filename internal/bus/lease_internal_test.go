package bus

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/sessions"
)

// free is a bucket in which nobody has a lease.
type free struct{ keyValues }

func (free) Create(context.Context, string, []byte, ...jetstream.KVCreateOpt) (uint64, error) {
	return 1, nil
}

// A replica whose connection was lost takes no lease before it knows how old the bucket is: the server may have restarted, and
// another replica may have made a new bucket while a third one still relies on its lease from before.
func TestNoLeaseFromAnUnknownBucket(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &leases{log: slog.New(slog.DiscardHandler), held: map[string]*lease{}}
		s.use(free{}, began, began)
		s.distrust()
		time.AfterFunc(10*time.Second, func() { s.use(free{}, began, time.Now().Add(leaseTrust)) })
		_, l := s.acquire(t.Context(), "account", func() {}, func(context.Context) bool { return true })
		require.NotNil(t, l)
		l.expiry.Stop()
		require.GreaterOrEqual(t, time.Since(began), 10*time.Second+leaseTrust)
	})
}

// slow is a bucket that answers after a while.
type slow struct {
	free
	asked func() // while the first lease is requested
	asks  int
}

func (s *slow) Create(context.Context, string, []byte, ...jetstream.KVCreateOpt) (uint64, error) {
	if s.asks++; s.asks == 1 {
		s.asked()
	}
	return 1, nil
}

// A lease that was granted while the connection was lost may be from a young bucket: it does not count.
func TestALeaseFromADoubtfulBucketDoesNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &leases{log: slog.New(slog.DiscardHandler), held: map[string]*lease{}}
		bucket := &slow{}
		bucket.asked = func() {
			s.distrust()
			s.use(bucket, began, time.Now().Add(leaseTrust))
		}
		s.use(bucket, began, began)
		_, l := s.acquire(t.Context(), "account", func() {}, func(context.Context) bool { return true })
		require.NotNil(t, l)
		l.expiry.Stop()
		require.Equal(t, 2, bucket.asks)
		require.GreaterOrEqual(t, time.Since(began), leaseTrust)
	})
}

// A server's clock that was set back makes a bucket look young at each check. One that is known becomes no younger, and none is
// young for longer than a lease is trusted.
func TestAKnownBucketBecomesNoYounger(t *testing.T) {
	t.Parallel()
	s, began := &leases{}, time.Now()
	until := func() time.Time {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.quiet
	}
	s.use(free{}, began, began)
	s.use(free{}, began, began.Add(leaseTrust))
	require.Equal(t, began, until())
	s.distrust()
	s.use(free{}, began, began.Add(leaseTrust))
	require.Equal(t, began.Add(leaseTrust), until(), "it may have been emptied")
	s.use(free{}, began.Add(time.Hour), began)
	require.Equal(t, began, until(), "another one")

	for age, want := range map[time.Duration]time.Duration{0: leaseTrust, time.Second: leaseTrust - time.Second, -time.Hour: leaseTrust} {
		require.Equal(t, want, youth(age), age)
	}
	require.Negative(t, youth(time.Hour))
}

// A cluster that can't keep one thing on several nodes keeps only this one on a single node.
func TestCopies(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	c := copies{slog.New(slog.NewTextHandler(&log, nil)), map[string]bool{}}
	var asked []int
	try := func(name string, nodes int) error {
		return c.make(name, 3, func(number int) error {
			asked = append(asked, number)
			if number > nodes {
				return &jetstream.APIError{ErrorCode: noSuitablePeers}
			}
			return nil
		})
	}
	require.NoError(t, try("leases", 3))
	require.NoError(t, try("steps", 1))
	require.NoError(t, try("steps", 1))
	require.Equal(t, []int{3, 3, 1, 3, 1}, asked)
	require.Equal(t, 1, strings.Count(log.String(), "too few nodes"), "it is logged once")
	require.NoError(t, try("steps", 3))
	require.NoError(t, try("steps", 1))
	require.Equal(t, 2, strings.Count(log.String(), "too few nodes"))
	require.ErrorContains(t, try("steps", 0), "make steps: ")
}

// lines closes lost when the log says that the connection is lost.
type lines struct {
	lost chan struct{}
	once sync.Once
}

func (l *lines) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("bus connection lost")) {
		l.once.Do(func() { close(l.lost) })
	}
	return len(line), nil
}

// A lost connection makes the bucket doubtful until it is checked after the reconnection.
func TestALostConnectionMakesTheBucketDoubtful(t *testing.T) {
	t.Parallel()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true})
	require.NoError(t, err)
	s.Start()
	require.True(t, s.ReadyForConnections(30*time.Second))
	said := &lines{lost: make(chan struct{})}
	b, err := Start(t.Context(), Config{
		URL: s.ClientURL(), Partitions: 1, Replica: "one", Now: time.Now, Registerer: prometheus.NewRegistry(), Log: slog.New(slog.NewTextHandler(said, nil)),
	})
	require.NoError(t, err)
	t.Cleanup(func() { b.Stop(context.Background()) })
	_, _, doubt, turn := b.leases.state()
	require.False(t, doubt)
	s.Shutdown()
	s.WaitForShutdown()
	select {
	case <-said.lost:
	case <-time.After(30 * time.Second):
		t.Fatal("the connection was not lost")
	}
	_, _, doubt, _ = b.leases.state()
	require.True(t, doubt)
	require.True(t, b.leases.turned(turn))
	_, err = b.Follow(t.Context(), "sess_1", 0)
	require.ErrorIs(t, err, errNoEvents, "the request would be carried out for nobody after a reconnection")
	require.ErrorIs(t, b.ensure(t.Context()), nats.ErrDisconnected, "it is not known whether this is a cluster")
}

// scanned is an owner that tells when its partition was taken, and when it is to read its rows again.
type scanned struct {
	took, scans chan int
}

func (scanned) Epoch(context.Context, int) (int64, error) { return 0, nil }

func (s scanned) Acquire(_ context.Context, p int, _ int64) error {
	s.took <- p
	return nil
}

func (scanned) Release(context.Context, int) {}

func (scanned) Woken(int, sessions.Lane) {}

func (scanned) Stepped(_ int, _ []byte, ack func()) { ack() }

func (s scanned) Rescan(p int) { s.scans <- p }

// Wakes may be lost while the connection is: the rows are read again after each reconnection, also if the bus is only partial.
func TestAPartialBusReadsRowsAgain(t *testing.T) {
	t.Parallel()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, JetStreamMaxStore: 1 << 20, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
	})
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	require.True(t, s.ReadyForConnections(30*time.Second))
	b, err := Start(t.Context(), Config{
		URL: s.ClientURL(), Partitions: 1, Replica: "one", Now: time.Now, Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(func() { b.Stop(context.Background()) })
	require.ErrorIs(t, b.Ready(), ErrPartial)
	next := func(from chan int) {
		t.Helper()
		select {
		case <-from:
		case <-time.After(30 * time.Second):
			t.Fatal("nothing happened")
		}
	}
	owner := scanned{make(chan int, 10), make(chan int, 10)}
	require.NoError(t, b.Own(t.Context(), owner))
	next(owner.took)
	for range 2 {
		b.reconnected()
		next(owner.scans)
	}
}
