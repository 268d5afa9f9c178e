package bus

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	eventsStream  = "SLUICE_EVENTS"
	eventsSubject = "sluice.events."
	leasesBucket  = "SLUICE_LEASES"

	eventsPerSession = 2048
	eventsAge        = 15 * time.Minute
	eventsBytes      = 32 << 20
	serverMemory     = 64 << 20
)

// startServer starts the embedded server. It listens nowhere.
func (b *Bus) startServer() error {
	s, err := server.NewServer(&server.Options{
		ServerName: b.cfg.Replica, DontListen: true, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: filepath.Join(b.cfg.Dir, "nats"),
		JetStreamMaxMemory: serverMemory, JetStreamMaxStore: serverMemory,
	})
	if err != nil {
		return fmt.Errorf("configure embedded NATS: %w", err)
	}
	s.Start()
	if !s.ReadyForConnections(connectTimeout) {
		s.Shutdown()
		return errors.New("start embedded NATS: it is not ready in time")
	}
	b.server = s
	return nil
}

// ensure makes the stream and the bucket if they are not there.
func (b *Bus) ensure(ctx context.Context) error {
	events, err := b.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: eventsStream, Subjects: []string{eventsSubject + "*"}, Storage: jetstream.MemoryStorage,
		MaxMsgsPerSubject: eventsPerSession, MaxAge: eventsAge, MaxBytes: eventsBytes, Discard: jetstream.DiscardOld,
		NoAck: true, // an event is not worth the wait for its acknowledgement
	})
	if err != nil {
		return fmt.Errorf("make stream %s: %w", eventsStream, err)
	}
	var leases jetstream.KeyValue
	if !b.solo() {
		leases, err = b.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: leasesBucket, TTL: leaseTTL, Storage: jetstream.MemoryStorage})
		if err != nil {
			return fmt.Errorf("make bucket %s: %w", leasesBucket, err)
		}
	}
	b.mu.Lock()
	b.events, b.leases = events, leases
	b.mu.Unlock()
	return nil
}
