package bus_test

import (
	"bytes"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/internal/bus"
)

// said is a log that tells when a word was first written, and how often.
type said struct {
	word  string
	times atomic.Int32
	now   chan struct{}
}

func (s *said) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(s.word)) && s.times.Add(1) == 1 {
		close(s.now)
	}
	return len(line), nil
}

func (s *said) count() int { return int(s.times.Load()) }

func newSaid(word string) *said { return &said{word: word, now: make(chan struct{})} }

// A server that takes connections before its JetStream is up must not leave the
// bus half mended: it tries again until all is there, without being asked.
func TestMendingIsTriedUntilItSucceeds(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	broken, whole := newSaid("bus is incomplete"), newSaid("bus is complete again")
	startWith(t, c.url(), "one", prometheus.NewRegistry(), broken, whole)

	c.stop()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: c.port, NoSigs: true, NoLog: true})
	require.NoError(t, err)
	s.Start()
	require.True(t, s.ReadyForConnections(patience))
	c.Server = s
	receiveEnd(t, broken.now)
	require.NoError(t, s.EnableJetStream(&server.JetStreamConfig{MaxMemory: 1 << 26, MaxStore: 1 << 26, StoreDir: t.TempDir()}))
	receiveEnd(t, whole.now)

	conn, err := nats.Connect(c.url())
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	_, err = js.Stream(t.Context(), "SLUICE_EVENTS")
	require.NoError(t, err)
	_, err = js.KeyValue(t.Context(), "SLUICE_LEASES")
	require.NoError(t, err)
}

// A server that has no room for the steps between agents, as with a full disk, keeps nobody from all other work, and the
// gateway says what is missing, once in its log.
func TestAServerWithoutRoomForSteps(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	broken, whole := newSaid("insufficient storage"), newSaid("bus is complete again")
	watch := &board{owners: map[int]map[string]bool{}}
	b, o := startWith(t, c.url(), "one", prometheus.NewRegistry(), broken, whole), newOwner("one", watch)
	require.NoError(t, b.Own(t.Context(), o))
	until(t, func() bool { return o.count() == partitions }, o)
	restart := func(room int64) {
		c.stop()
		until(t, func() bool { return o.count() == 0 }, o)
		s, err := server.NewServer(&server.Options{
			Host: "127.0.0.1", Port: c.port, JetStream: true, JetStreamMaxStore: room, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
		})
		require.NoError(t, err)
		s.Start()
		require.True(t, s.ReadyForConnections(patience))
		c.Server = s
	}
	restart(1 << 20)
	receiveEnd(t, broken.now)
	require.ErrorContains(t, b.Ready(), "SLUICE_STEPS")
	require.ErrorIs(t, b.Ready(), bus.ErrPartial)
	until(t, func() bool { return o.count() == partitions }, o)
	require.Equal(t, 1, broken.count())
	second, late := startWith(t, c.url(), "two", prometheus.NewRegistry()), newOwner("two", watch)
	require.ErrorIs(t, second.Ready(), bus.ErrPartial, "it starts")
	require.NoError(t, second.Own(t.Context(), late))
	until(t, func() bool { return late.count() > 0 }, o, late)
	second.Stop(t.Context())
	until(t, func() bool { return o.count() == partitions }, o, late)
	restart(1 << 30)
	receiveEnd(t, whole.now)
	require.NoError(t, b.Ready())
}
