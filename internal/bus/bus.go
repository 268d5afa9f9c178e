package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"sluice/router"
)

const (
	connectTimeout = 10 * time.Second // for the first connection
	requestTimeout = 2 * time.Second  // of one call of the server
	reconnectWait  = 250 * time.Millisecond
	// outbox bounds what is kept for publishing while the server is away.
	outbox = 4 << 20
	// writeTimeout bounds how long a caller of Wake or Emit may be held up by a
	// connection that takes nothing; it is then given up and made again.
	writeTimeout = time.Second
)

// Config is what a Bus is made of.
type Config struct {
	URL        string // "nats://a,nats://b"; empty: an embedded server
	Dir        string // state folder, for the embedded server's files
	Partitions int
	Replica    string // unique among the replicas
	Now        func() time.Time
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Bus is one replica's connection. It is safe for concurrent use.
type Bus struct {
	cfg     Config
	metrics *metrics
	server  *server.Server // nil for a cluster
	conn    *nats.Conn
	js      jetstream.JetStream

	ctx    context.Context // ends with Stop
	cancel context.CancelFunc
	wg     sync.WaitGroup
	repair chan struct{} // capacity 1: the mender has something to look at
	gather gatherer      // of events, with the embedded server
	roster *roster
	owned  *owned

	// soft ends when the time for an orderly hand-over is over.
	soft    context.Context
	endSoft context.CancelFunc

	mu       sync.Mutex
	events   *stream
	leases   jetstream.KeyValue
	quiet    time.Time // until then no lease is taken that this replica has not had
	held     map[string]*lease
	handover sync.WaitGroup // the partitions' goroutines
}

var _ router.Bus = (*Bus)(nil)

// Start connects, and with an empty URL starts the server first.
func Start(ctx context.Context, cfg Config) (*Bus, error) {
	b := &Bus{
		cfg: cfg, metrics: newMetrics(cfg.Registerer), held: map[string]*lease{}, repair: make(chan struct{}, 1),
		roster: newRoster(cfg.Replica, cfg.Now), owned: newOwned(cfg.Log),
	}
	b.gather.publish = func(subject string, text []byte) {
		if err := b.conn.Publish(subject, text); err != nil {
			b.metrics.dropped.WithLabelValues("event").Inc()
		}
	}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.soft, b.endSoft = context.WithCancel(context.Background())
	if err := b.start(ctx); err != nil {
		b.Stop(ctx)
		return nil, err
	}
	return b, nil
}

func (b *Bus) start(ctx context.Context) error {
	if b.solo() {
		if err := b.startServer(); err != nil {
			return err
		}
	}
	if err := b.connect(); err != nil {
		return err
	}
	var err error
	if b.js, err = jetstream.New(b.conn); err != nil {
		return fmt.Errorf("use JetStream: %w", err)
	}
	if err := b.ensure(ctx); err != nil {
		return err
	}
	b.wg.Go(b.repairer)
	return nil
}

// solo reports whether this is the only replica.
func (b *Bus) solo() bool { return b.cfg.URL == "" }

func (b *Bus) connect() error {
	options := []nats.Option{
		nats.Name("sluice " + b.cfg.Replica), nats.Timeout(connectTimeout), nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait), nats.ReconnectBufSize(outbox), nats.FlusherTimeout(writeTimeout), nats.PingInterval(2 * time.Second), nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				b.cfg.Log.Warn("bus connection lost", "err", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { b.reconnected() }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { b.cfg.Log.Warn("bus reported", "err", err) }),
	}
	if b.server != nil {
		options = append(options, nats.InProcessServer(b.server))
	}
	if !b.readable() {
		return errAddress
	}
	conn, err := nats.Connect(b.cfg.URL, options...)
	if err != nil {
		return fmt.Errorf("connect to bus (is NATS running, with JetStream, at bus.url?): %w", err)
	}
	b.conn = conn
	return nil
}

// reconnected makes good for what the server may have lost: it may have been
// restarted, and what it keeps is in memory.
func (b *Bus) reconnected() {
	b.metrics.reconnects.Inc()
	b.damaged()
}

// Ready returns nil if the bus is connected, else what is wrong.
func (b *Bus) Ready() error {
	if !b.conn.IsConnected() {
		return fmt.Errorf("bus is not connected to %s; it reconnects on its own once NATS is back", b.address())
	}
	return nil
}

func (b *Bus) address() string {
	if b.solo() {
		return "its embedded server"
	}
	var hosts []string
	for address := range strings.SplitSeq(b.cfg.URL, ",") {
		if u, err := url.Parse(strings.TrimSpace(address)); err == nil {
			hosts = append(hosts, u.Scheme+"://"+u.Host) // neither user, password nor token
		}
	}
	return strings.Join(hosts, ", ")
}

// errAddress says that an address can't be read. It leaves out the address, which may have a password in it.
var errAddress = errors.New("an address in bus.url can't be read: want nats://user:password@host:port, with special characters of the password as %XX")

// readable reports whether the library can read the addresses: its own errors repeat them.
func (b *Bus) readable() bool {
	for address := range strings.SplitSeq(b.cfg.URL, ",") {
		if _, err := url.Parse(strings.TrimSpace(address)); err != nil {
			return false
		}
	}
	return true
}

// Stop ends everything. It is idempotent. Partitions that are still owned are handed over first.
func (b *Bus) Stop(ctx context.Context) {
	b.Handover(ctx)
	b.mu.Lock() // no goroutine begins after this
	b.cancel()
	b.mu.Unlock()
	b.wg.Wait()
	b.endSoft()
	if b.conn != nil {
		b.gather.close()
		b.conn.Close()
	}
	if b.server != nil {
		b.server.Shutdown()
		b.server.WaitForShutdown()
	}
}

// errClosed: the bus was stopped.
var errClosed = errors.New("bus is stopped")
