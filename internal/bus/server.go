package bus

import (
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/nats-io/nats-server/v2/server"
)

// serverMemory and serverFiles bound the embedded server's streams.
const (
	serverMemory = 64 << 20
	serverFiles  = 2 * stepsBytes
)

// startServer starts the embedded server. It listens on no port unless it shall accept readers.
func (b *Bus) startServer() error {
	folder := filepath.Join(b.cfg.Dir, "nats")
	options := &server.Options{
		ServerName: b.cfg.Replica, DontListen: true, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: folder,
		JetStreamMaxMemory: serverMemory, JetStreamMaxStore: serverFiles,
	}
	if b.cfg.Listen != "" {
		at, err := listenAt(b.cfg.Listen)
		if err != nil {
			return err
		}
		b.secret = rand.Text()
		options.DontListen, options.Host, options.Port = false, at.host, at.port
		options.MaxConn, options.MaxSubs, options.CustomClientAuthentication = clientsMax, subscriptionsMax, door{own: b.secret, reader: b.cfg.Reader, agent: b.cfg.Agent}
		options.AlwaysEnableNonce = true // agents sign it
	}
	s, err := server.NewServer(options)
	if err != nil {
		return fmt.Errorf("configure embedded NATS: %w", err)
	}
	log := &serverLog{}
	s.SetLogger(log, false, false)
	s.Start()
	if err := log.fatal(); err != nil { // it would never become ready
		s.Shutdown()
		return fmt.Errorf("start embedded NATS in %s%s: %w", folder, listens(b.cfg.Listen), err)
	}
	if !s.ReadyForConnections(connectTimeout) {
		s.Shutdown()
		return errors.New("start embedded NATS: it did not become ready in time")
	}
	b.server = s
	return nil
}

// listens is where a server listens, as a part of an error.
func listens(address string) string {
	if address == "" {
		return ""
	}
	return ", at " + address
}

// serverLog keeps the first fatal error of the embedded server, which the server reports only to its log. It is safe
// for concurrent use.
type serverLog struct {
	mu  sync.Mutex
	err error
}

func (l *serverLog) fatal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Fatalf implements [server.Logger].
func (l *serverLog) Fatalf(format string, v ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = fmt.Errorf(format, v...)
	}
}

func (*serverLog) Noticef(string, ...any) {}
func (*serverLog) Warnf(string, ...any)   {}
func (*serverLog) Errorf(string, ...any)  {}
func (*serverLog) Debugf(string, ...any)  {}
func (*serverLog) Tracef(string, ...any)  {}
