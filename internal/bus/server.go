package bus

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/nats-io/nats-server/v2/server"
)

// serverMemory bounds what the embedded server stores.
const serverMemory = 64 << 20

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
		return errors.New("start embedded NATS: it did not become ready in time")
	}
	b.server = s
	return nil
}
