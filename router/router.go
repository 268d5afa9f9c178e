package router

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/adapters"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/exchange"
	"sluice/router/lanes"
	"sluice/router/ledger"
	"sluice/router/manage"
	"sluice/router/outbound"
	"sluice/router/place"
	"sluice/sessions"
)

// Monitor judges what enters sessions, ends them and makes one work for another, see [policy.Monitor].
type Monitor interface {
	Enter(e policy.Entry) policy.Decision
	MayRise(record sessions.Record, route sessions.Route, label flow.Label) bool
	Reset(record sessions.Record, who string, owner bool) policy.Decision
	Invoke(v policy.Invocation) policy.Decision
}

// Config is what a Router is made of. All fields but Grace, SweepEvery, CachedSessions and Room are required.
type Config struct {
	Store      ledger.Store
	Bus        Bus
	Agent      Agent
	Gate       outbound.Gate
	Monitor    Monitor
	Adapters   adapters.Finder
	Settings   *place.Settings
	Partitions int    // the same on all replicas, for ever
	Replica    string // names this process among the replicas
	Now        func() time.Time
	Log        *slog.Logger
	Registerer prometheus.Registerer

	Grace          time.Duration // for work under way when a partition is released; default 4 s
	SweepEvery     time.Duration // between two looks for lost wakes; default 30 s
	CachedSessions int           // default 512

	Room Room // for stored files; nil: no bound
}

// Router takes messages in, has them worked and sends the answers out. Its
// goroutines are those of the lanes (see [lanes.Lanes]), the sweeper, the retirer's, the pruner, the keeper of receipts, and those of acks.
type Router struct {
	store      ledger.Store
	bus        Bus
	agent      Agent
	gate       outbound.Gate
	compose    *outbound.Composer
	monitor    Monitor
	adapter    adapters.Finder
	settings   atomic.Pointer[place.Settings]
	partitions int
	replica    string
	now        func() time.Time
	log        *slog.Logger
	metrics    *metrics
	grace      time.Duration
	sweepEvery time.Duration
	cache      *sessionCache
	acks       *acks
	retirer    *retirer
	lanes      *lanes.Lanes
	places     *place.Places
	receipts   *receipts
	exchanges  *exchange.Exchanges

	sessions   *manage.Sessions
	deliveries *manage.Deliveries
	expirer    *manage.Expirer // of the sweeper alone

	room     Room
	fetches  chan struct{} // holds one for each run that fetches files
	guess    sync.Mutex    // held while a pairing code is looked up: one guess at a time, so that none slips by the count
	stopping atomic.Bool

	sweepStop context.CancelFunc
	sweepDone chan struct{}
}

var _ adapters.Acceptor = (*Router)(nil)

// New makes a Router. It does nothing before Start and before the bus gives it partitions.
func New(c Config) (*Router, error) {
	if c.Store == nil || c.Bus == nil || c.Agent == nil || c.Gate == nil || c.Monitor == nil || c.Adapters == nil || c.Settings == nil || c.Now == nil || c.Log == nil || c.Registerer == nil {
		return nil, errors.New("new router: a required field is not set")
	}
	if c.Partitions < 1 {
		return nil, errors.New("new router: want at least one partition")
	}
	r := &Router{
		bus: c.Bus, agent: c.Agent, gate: c.Gate, monitor: c.Monitor, adapter: c.Adapters,
		partitions: c.Partitions, replica: c.Replica, now: c.Now, log: c.Log, metrics: newMetrics(c.Registerer),
		grace: orDefault(c.Grace, 4*time.Second), sweepEvery: orDefault(c.SweepEvery, 30*time.Second),
		cache:   newSessionCache(orDefault(c.CachedSessions, 512)),
		room:    c.Room,
		fetches: make(chan struct{}, fetchesMost), receipts: newReceipts(),
	}
	r.settings.Store(c.Settings)
	r.acks = newAcks(c.Log, r.metrics.acks)
	r.retirer = &retirer{
		adapter: c.Adapters, wake: func(change ledger.Change) { r.lanes.WakeFor(change) }, now: c.Now, log: c.Log, every: r.sweepEvery, due: make(chan struct{}, 1),
		order: func(q ledger.Delivery, text string) ledger.Delivery {
			return r.compose.Delivery(ledger.KindNotice, q.Route, text, q.Label)
		},
	}
	r.store = decidingStore{c.Store, r.retirer.look}
	r.retirer.store = r.store
	r.places = &place.Places{
		Store: r.store, Settings: r.settings.Load, SinkLevel: c.Gate.SinkLevel, Judge: c.Monitor.Reset, Now: c.Now, Partitions: c.Partitions,
	}
	r.compose = &outbound.Composer{
		Store: r.store, Gate: c.Gate, Places: r.places, Settings: r.settings.Load, Partitions: c.Partitions, Now: c.Now,
	}
	r.lanes = lanes.New(lanes.Config{
		Store: r.store, Bus: c.Bus, Worker: r.worker, Released: r.forget, Partitions: c.Partitions, Replica: c.Replica,
		Grace: r.grace, Log: c.Log, Owned: r.metrics.partitions,
	})
	r.exchanges = exchange.New(exchange.Config{
		Store: r.store, Commit: r.lanes.Commit, Places: r.places, Invoke: c.Monitor.Invoke, Now: c.Now, Ended: r.metrics.exchanges,
		Stopping: r.stopping.Load, HasAgent: func(agent string) bool { return c.Agent.ModelName(agent) != "" },
		Delivery: r.compose.Delivery,
	})
	r.manage(c)
	return r, nil
}

// manage makes the stage by which operators and programs see, change and end sessions and deliveries.
func (r *Router) manage(c Config) {
	r.sessions = &manage.Sessions{
		Store: r.store, Places: r.places, Settings: r.settings.Load, Lanes: r.lanes, Events: c.Bus,
		ModelName: c.Agent.ModelName, Stopping: r.stopping.Load, Now: c.Now,
	}
	r.deliveries = &manage.Deliveries{Store: r.store, Settings: r.settings.Load, Lanes: r.lanes, ApprovalOf: r.approvalOf, Now: c.Now}
	r.expirer = &manage.Expirer{Store: r.store, Places: r.places, Settings: r.settings.Load, Now: c.Now, Log: c.Log}
}

// Sessions are sessions as operators and programs see, change and end them.
func (r *Router) Sessions() *manage.Sessions { return r.sessions }

// Deliveries sends deliveries again and discards them.
func (r *Router) Deliveries() *manage.Deliveries { return r.deliveries }

// Standings says what sessions may say.
func (r *Router) Standings() *outbound.Composer { return r.compose }

// Exchanges are what agents say to each other.
func (r *Router) Exchanges() *exchange.Exchanges { return r.exchanges }

// Places are who is heard where, and in which session.
func (r *Router) Places() *place.Places { return r.places }

func orDefault[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// Owner is what the bus tells of partitions.
func (r *Router) Owner() *lanes.Lanes { return r.lanes }

// worker makes the worker of a lane: a session's runs, or a conversation's deliveries.
func (r *Router) worker(lane *lanes.Lane) lanes.Turn {
	if id, err := sessions.ParseID(string(lane.Name)); err == nil {
		w := &sessionWorker{Router: r, lane: lane, id: id}
		return w.turn
	}
	w := &outboxWorker{Router: r, lane: lane}
	return w.turn
}

// forget drops the opened sessions of a partition that was given back.
func (r *Router) forget(partition int) {
	r.cache.drop(func(record sessions.Record) bool { return record.Partition == partition })
}

// Configure gives the router new settings. What is under way ends under the old ones.
func (r *Router) Configure(s *place.Settings) {
	r.settings.Store(s)
	r.cache.drop(func(sessions.Record) bool { return true }) // opened with the old agents
}

// Start begins to sweep for lost wakes and expired sessions.
func (r *Router) Start() {
	r.acks.start()
	r.retirer.start()
	ctx, cancel := context.WithCancel(context.Background())
	r.sweepStop, r.sweepDone = cancel, make(chan struct{})
	pruner := pruner{store: r.store, now: r.now, keeps: func() place.Retention { return r.settings.Load().Retention }, mine: func() bool { return r.lanes.Owns(0) }, step: r.pruned}
	keeper := keeper{store: r.store, receipts: r.receipts, owned: r.lanes.Owns, wake: r.lanes.Wake}
	go func() {
		defer close(r.sweepDone)
		var beside sync.WaitGroup
		beside.Go(func() { pruner.run(ctx) })
		beside.Go(func() { keeper.run(ctx) })
		r.sweep(ctx)
		beside.Wait()
	}()
}

// StopIntake makes Admit refuse everything from now on.
func (r *Router) StopIntake() { r.stopping.Store(true) }

// Stop ends the sweeping and gives back partitions that the bus has not taken away yet. It is idempotent.
func (r *Router) Stop(ctx context.Context) {
	r.StopIntake()
	if r.sweepStop != nil {
		r.sweepStop()
		<-r.sweepDone
	}
	r.lanes.ReleaseAll(ctx)
	r.leaveReceipts(ctx)
	r.acks.stop()
	r.retirer.stop()
}

func (r *Router) sweep(ctx context.Context) {
	ticker := time.NewTicker(r.sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			r.lanes.RescanAll()
			r.expirer.Sweep(ctx)
			r.lapseHeld(ctx)
			r.sweepMemories(ctx)
		}
	}
}

// pruned counts a step of retention.
func (r *Router) pruned(kind ledger.PruneKind, err error, p ledger.Pruned) {
	r.metrics.pruned.WithLabelValues(string(kind)).Add(float64(p.Removed))
	if err != nil {
		r.log.Error("old rows not removed", "kind", string(kind), "err", err)
	}
}

// SharedMain is [SharedMain] of the present settings.
func (r *Router) SharedMain() string { return place.SharedMain(r.settings.Load().Keyer) }
