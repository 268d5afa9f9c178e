package bus_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/internal/bus"
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

// A server that takes connections before its JetStream is up must not leave the
// bus half mended: it tries again until all is there, without being asked.
func TestMendingIsTriedUntilItSucceeds(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	log := &said{word: "not whole", now: make(chan struct{})}
	b, err := bus.Start(t.Context(), bus.Config{
		URL: c.url(), Partitions: partitions, Replica: "one", Now: time.Now,
		Log: slog.New(slog.NewTextHandler(log, nil)), Registerer: prometheus.NewRegistry(),
	})
	require.NoError(t, err)
	t.Cleanup(func() { b.Stop(context.Background()) })

	c.stop()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: c.port, NoSigs: true, NoLog: true})
	require.NoError(t, err)
	s.Start()
	require.True(t, s.ReadyForConnections(patience))
	c.Server = s
	receiveEnd(t, log.now)
	require.NoError(t, s.EnableJetStream(&server.JetStreamConfig{MaxMemory: 1 << 26, MaxStore: 1 << 26, StoreDir: t.TempDir()}))

	conn, err := nats.Connect(c.url())
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := js.Stream(t.Context(), "SLUICE_EVENTS")
		_, missing := js.KeyValue(t.Context(), "SLUICE_LEASES")
		return err == nil && missing == nil
	}, patience, 20*time.Millisecond)
}
