package bus_test

import (
	"bytes"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// said is a log that tells when a word was first written.
type said struct {
	word string
	once sync.Once
	now  chan struct{}
}

func (s *said) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(s.word)) {
		s.once.Do(func() { close(s.now) })
	}
	return len(line), nil
}

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
