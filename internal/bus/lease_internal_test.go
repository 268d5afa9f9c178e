package bus

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
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
		s.use(free{}, began)
		s.distrust()
		time.AfterFunc(10*time.Second, func() { s.use(free{}, time.Now().Add(leaseTrust)) })
		_, l := s.acquire(t.Context(), "account", func() {}, func(context.Context) bool { return true })
		require.NotNil(t, l)
		l.expiry.Stop()
		require.GreaterOrEqual(t, time.Since(began), 10*time.Second+leaseTrust)
	})
}

// slow is a bucket that answers after a while, and in which a lease can be removed.
type slow struct {
	free
	asked   func() // while a lease is requested
	removed int
}

func (s *slow) Create(context.Context, string, []byte, ...jetstream.KVCreateOpt) (uint64, error) {
	if asked := s.asked; asked != nil {
		s.asked = nil
		asked()
	}
	return 1, nil
}

func (s *slow) Delete(context.Context, string, ...jetstream.KVDeleteOpt) error {
	s.removed++
	return nil
}

// A lease that was granted while the connection was lost may be from a young bucket: it is given back.
func TestALeaseFromADoubtfulBucketIsGivenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &leases{log: slog.New(slog.DiscardHandler), held: map[string]*lease{}}
		bucket := &slow{}
		bucket.asked = func() {
			s.distrust()
			s.use(bucket, time.Now().Add(leaseTrust))
		}
		s.use(bucket, began)
		_, l := s.acquire(t.Context(), "account", func() {}, func(context.Context) bool { return true })
		require.NotNil(t, l)
		l.expiry.Stop()
		require.Equal(t, 1, bucket.removed)
		require.GreaterOrEqual(t, time.Since(began), leaseTrust)
	})
}

// silent is a bucket that fails to say who has a lease.
type silent struct {
	free
	gets int
}

func (s *silent) Create(context.Context, string, []byte, ...jetstream.KVCreateOpt) (uint64, error) {
	if s.gets < 3 {
		return 0, jetstream.ErrKeyExists
	}
	return 1, nil
}

func (s *silent) Get(context.Context, string) (jetstream.KeyValueEntry, error) {
	if s.gets++; s.gets < 3 {
		return nil, context.DeadlineExceeded
	}
	return nil, jetstream.ErrKeyNotFound
}

// A lease whose holder can't be found out is not free.
func TestALeaseOfWhichNothingIsHeardIsNotFree(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		checks := 0
		s := &leases{log: slog.New(slog.DiscardHandler), held: map[string]*lease{}, damaged: func() { checks++ }}
		bucket := &silent{}
		s.use(bucket, time.Now())
		_, l := s.acquire(t.Context(), "account", func() {}, func(context.Context) bool { return true })
		require.NotNil(t, l)
		l.expiry.Stop()
		require.Equal(t, 3, bucket.gets)
		require.Equal(t, 2, checks, "each failure asks for a check of the bucket")
	})
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
}
