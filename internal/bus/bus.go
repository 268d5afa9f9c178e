package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"sluice/router"
)

const (
	connectTimeout = 10 * time.Second // for the first connection
	requestTimeout = 2 * time.Second  // for one call to the server
	reconnectWait  = 250 * time.Millisecond
	pingEvery      = 2 * time.Second // how often the connection is checked
	// outbox bounds the bytes kept for publishing while the server is unavailable.
	outbox = 4 << 20
	// writeTimeout bounds how long a blocked connection holds up a caller of Wake or Emit. The connection is then
	// replaced.
	writeTimeout = time.Second
)

// Config has the dependencies of a Bus.
type Config struct {
	URL    string        // "nats://a,nats://b"; empty: an embedded server
	Dir    string        // state folder, for the files of the embedded server
	Listen string        // address at which the embedded server accepts readers; empty: nowhere
	Reader func() string // returns the current password or token of readers; empty: no readers
	// Agent returns whose public nkey this is: the program of that agent may connect. Nil: no programs.
	Agent      func(nkey string) (id string, ok bool)
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

	embedding sync.Mutex     // held while the embedded server starts or stops
	server    *server.Server // nil for a cluster, and until the embedded server is needed
	secret    string         // with which this process connects to an embedded server that accepts readers
	conn      *nats.Conn     // nil while the embedded server is not needed
	js        jetstream.JetStream

	ctx    context.Context // ends with Stop
	cancel context.CancelFunc
	wg     sync.WaitGroup
	repair chan struct{} // capacity 1: the repairer has something to check
	gather gatherer      // of events, with the embedded server

	*courier // of steps
	Agents   *Agents
	Replicas *Replicas
	owned    *owned
	leases   *leases

	subscribe func(partition int) (stop func(), err error) // to the wakes of a partition
	readSteps func(ctx context.Context, partition int)     // until ctx ends

	// soft ends when the time for an orderly hand-over is over.
	soft    context.Context
	endSoft context.CancelFunc

	copies   copies
	back     atomic.Bool           // the connection is back, and what was sent meanwhile may be lost
	lacks    atomic.Pointer[error] // why the server does not have everything, at the last check; nil: not checked again since the start
	replaced atomic.Bool           // another gateway works in place of this one, which has an embedded server

	mu       sync.Mutex
	events   *stream
	handover sync.WaitGroup // the goroutines of the partitions
}

var _ router.Bus = (*Bus)(nil)

// Start connects. With an empty URL, an embedded server is used and started when it is first needed.
func Start(ctx context.Context, cfg Config) (*Bus, error) {
	b := &Bus{
		cfg: cfg, metrics: newMetrics(cfg.Registerer), repair: make(chan struct{}, 1), copies: copies{cfg.Log, map[string]bool{}},
		Replicas: newReplicas(cfg.Replica, cfg.Now), owned: newOwned(cfg.Log),
	}
	b.leases = &leases{replica: cfg.Replica, damaged: b.damaged, lost: b.metrics.lost, log: cfg.Log, held: map[string]*lease{}, ended: map[string]time.Time{}}
	b.gather = gatherer{
		publish: b.publishEvent, now: cfg.Now,
		embed: func() { // more events wait than can be kept here
			b.background(func() {
				if err := b.embed(); err != nil && b.ctx.Err() == nil {
					cfg.Log.Warn("live events are kept only for a short time", "err", err)
				}
			})
		},
		dropped: func(events int) { b.metrics.dropped.WithLabelValues("event").Add(float64(events)) },
	}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.courier = newCourier(&courier{
		ctx: b.ctx, solo: b.solo(), embed: b.embed, conn: func() *nats.Conn { return b.conn }, js: func() jetstream.JetStream { return b.js }, background: b.background, damaged: b.damaged,
		owned: b.owned, dropped: b.metrics.dropped.WithLabelValues("step"), log: cfg.Log,
	})
	b.subscribe, b.readSteps = b.subscribeWakes, b.courier.read
	b.Agents = &Agents{agent: cfg.Agent, reader: cfg.Reader, log: cfg.Log}
	if cfg.Reader != nil {
		b.Agents.read = cfg.Reader()
	}
	b.soft, b.endSoft = context.WithCancel(context.Background())
	if b.solo() && cfg.Listen == "" {
		return b, nil
	}
	begin := func() error { return b.open(ctx) }
	if b.solo() {
		begin = b.embed
	}
	if err := begin(); err != nil {
		b.Stop(ctx)
		return nil, err
	}
	b.Agents.conn, b.Agents.server = b.conn, b.server
	return b, nil
}

// solo reports whether this is the only replica.
func (b *Bus) solo() bool { return b.cfg.URL == "" }

func (b *Bus) connect() error {
	options := []nats.Option{
		nats.Name("sluice " + b.cfg.Replica), nats.Timeout(connectTimeout), nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait), nats.ReconnectBufSize(outbox), nats.FlusherTimeout(writeTimeout), nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			b.leases.distrust()
			if err != nil {
				b.cfg.Log.Warn("bus connection lost", "err", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { b.reconnected() }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { b.cfg.Log.Warn("bus reported", "err", err) }),
	}
	if b.server != nil {
		options = append(options, nats.InProcessServer(b.server))
		if b.cfg.Listen != "" {
			options = append(options, nats.UserInfo(ownUser, b.secret))
		}
	} else {
		options = append(options, nats.PingInterval(pingEvery))
	}
	if !readable(b.cfg.URL) {
		return errAddress
	}
	conn, err := nats.Connect(b.cfg.URL, options...)
	if err != nil {
		return fmt.Errorf("connect to bus (is NATS running, with JetStream, at bus.url?): %w", err)
	}
	b.conn = conn
	if b.js, err = jetstream.New(b.conn, jetstream.WithPublishAsyncErrHandler(func(_ jetstream.JetStream, m *nats.Msg, err error) { b.courier.refused(m, err) }), jetstream.WithPublishAsyncTimeout(connectTimeout)); err != nil {
		return fmt.Errorf("use JetStream: %w", err)
	}
	return nil
}

// background runs work on a goroutine that Stop waits for. After Stop it does nothing.
func (b *Bus) background(work func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx.Err() == nil {
		b.wg.Go(work)
	}
}

// publishEvent sends an event to the server.
func (b *Bus) publishEvent(subject string, text []byte) {
	if err := b.conn.Publish(subject, text); err != nil {
		b.metrics.dropped.WithLabelValues("event").Inc()
	}
}

// reconnected restores what the server may have lost: it may have restarted, and it keeps everything in memory.
func (b *Bus) reconnected() {
	b.metrics.reconnects.Inc()
	b.leases.distrust() // also what a check has found that began before
	b.back.Store(true)
	b.damaged()
}

// Ready returns nil if the bus is connected and complete or needs no connection yet, and otherwise an error that says what is
// wrong. It does not wait for an embedded server that starts.
func (b *Bus) Ready() error {
	if b.ctx.Err() != nil {
		return errClosed
	}
	if b.replaced.Load() {
		return errReplaced
	}
	if b.solo() {
		if !b.embedding.TryLock() {
			return nil // the server starts for a follower; messages do not need it
		}
		defer b.embedding.Unlock()
		if b.conn == nil {
			return nil
		}
	}
	if !b.conn.IsConnected() {
		return fmt.Errorf("bus is not connected to %s; it reconnects on its own once NATS is back", b.address())
	}
	if lacks := b.lacks.Load(); lacks != nil && *lacks != nil {
		return fmt.Errorf("bus is incomplete, and is completed on its own once NATS allows it: %w", *lacks)
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
			hosts = append(hosts, u.Scheme+"://"+u.Host) // without user, password and token
		}
	}
	return strings.Join(hosts, ", ")
}

// errAddress means that an address can't be parsed. It omits the address, which may contain a password.
var errAddress = errors.New("an address in bus.url can't be read: want nats://user:password@host:port, with special characters of the password as %XX")

// readable reports whether the library can parse addresses: its own errors would repeat them.
func readable(urls string) bool {
	for address := range strings.SplitSeq(urls, ",") {
		if _, err := url.Parse(strings.TrimSpace(address)); err != nil {
			return false
		}
	}
	return true
}

// Stop hands over the partitions that are still owned and ends everything. It is idempotent.
func (b *Bus) Stop(ctx context.Context) {
	b.Handover(ctx)
	b.mu.Lock() // no goroutine starts after this
	b.cancel()
	b.mu.Unlock()
	b.wg.Wait()
	b.endSoft()
	b.embedding.Lock()
	defer b.embedding.Unlock()
	b.shut()
}

// errClosed means that the bus was stopped.
var errClosed = errors.New("bus is stopped")
