package router

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/adapters"
	plan "sluice/internal/alert"
	"sluice/internal/document"
	"sluice/internal/pause"
	"sluice/internal/telemetry"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/alert"
	"sluice/router/approvals"
	"sluice/router/attach"
	"sluice/router/commands"
	"sluice/router/disclose"
	"sluice/router/exchange"
	"sluice/router/hook"
	"sluice/router/inbound"
	"sluice/router/job"
	"sluice/router/jobs"
	"sluice/router/journal"
	"sluice/router/lanes"
	"sluice/router/ledger"
	"sluice/router/limits"
	"sluice/router/manage"
	"sluice/router/outbound"
	"sluice/router/place"
	"sluice/router/quota"
	"sluice/router/refused"
	"sluice/router/steps"
	"sluice/router/trigger"
	"sluice/router/work"
	"sluice/sessions"
)

// Monitor checks what enters a session, whether a session may end, and whether one agent may start work for another,
// see [policy.Monitor].
type Monitor interface {
	Enter(e policy.Entry) policy.Decision
	MayRise(record sessions.Record, route sessions.Route, label flow.Label) bool
	Reset(record sessions.Record, who string, owner bool) policy.Decision
	Invoke(v policy.Invocation) policy.Decision
}

// Models knows the models of agents.
type Models interface {
	// ModelName is the model of an agent whose session does not override it; empty if the agent is not configured.
	ModelName(agent string) string
}

// Config has what a Router needs. All fields but Transcribe, Speaker, ReadDocument, Limits, Grace, SweepEvery, CachedSessions, Disk, Full, Jobs, Alerts, Nodes and Tracer are required.
type Config struct {
	Store      *ledger.Store
	Bus        Bus
	Models     Models // of the agents that are configured
	Gate       outbound.Gate
	Monitor    Monitor
	Adapters   adapters.Finder
	Settings   *place.Settings
	Partitions int    // the same on all replicas; never changes
	Replica    string // names this process among the replicas
	Now        func() time.Time
	Log        *slog.Logger
	Registerer prometheus.Registerer

	// Transcribe returns what is said in recordings, see [attach.Config]. Nil: they are not transcribed.
	Transcribe func(ctx context.Context, r attach.Recording) (string, error)
	// Speaker turns replies into recordings. Nil: they are not spoken.
	Speaker outbound.Speaker
	// ReadDocument extracts the text of documents, see [attach.Config]. Nil: agents see plain text only.
	ReadDocument func(ctx context.Context, mime string, content []byte) (document.Text, error)

	Grace          time.Duration             // for work in progress when a partition is released; default 4 s
	SweepEvery     time.Duration             // between two sweeps for lost wakes; default 30 s
	Sweep          func(ctx context.Context) // called by each sweep; may be nil
	CachedSessions int                       // default 512

	Limits   limits.Store      // counts what is limited; nil: nothing is
	Refusals refused.Store     // keeps whose messages were refused; nil: this is not kept
	Spending Spending          // nil: the cost of model calls is not shown
	Tracer   *telemetry.Tracer // nil: messages are not traced

	Disk  quota.Disk   // space for stored files; nil: no limit
	Full  func() error // why nothing new is taken in at the moment, such as a [quota.FullError]; nil: never
	Hooks []hook.Hook  // [hook.Hooks.Configure] replaces them
	Jobs  []job.Job    // [job.Source.Configure] replaces them
	// JobReader reads jobs that are made at run time; replaced with Jobs. nil if no jobs are made at run time.
	JobReader job.Reader
	Alerts    *plan.Plan // nil: alerts are off; [alert.Alerts.Configure] replaces it
	Nodes     Nodes      // nil: there are no nodes
}

// Nodes knows the nodes, see [nodes.Registry].
type Nodes interface {
	commands.Nodes
	// AskIn makes it ask the owners in their chats.
	AskIn(ask func(ctx context.Context, n ledger.Node) []ledger.Delivery, commit func(ctx context.Context, change ledger.Change) error)
	// Changed is called with nodes that were stored.
	Changed(all []ledger.Node)
}

// Spending reads the cost of model calls.
type Spending interface {
	exchange.Spending
	commands.Spending
}

// Router assembles the stages of a message, starts and stops them, and sweeps. Its goroutines are the sweeper, the
// pruner and the keeper of receipts; the lanes, the retirer and the acks own theirs.
type Router struct {
	store      *ledger.Store
	compose    *outbound.Composer
	settings   atomic.Pointer[place.Settings]
	now        func() time.Time
	log        *slog.Logger
	metrics    *metrics
	grace      time.Duration
	sweepEvery time.Duration
	alsoSweep  func(ctx context.Context)
	acks       *work.Acks
	working    work.Config // for the workers; SetAgent completes it
	workers    *work.Workers
	lanes      *lanes.Lanes
	places     *place.Places
	exchanges  *exchange.Exchanges
	steps      *steps.Steps
	receipts   *journal.Receipts

	Intake    *inbound.Intake      // takes events in
	Routes    *outbound.Routes     // finds where proactive messages go
	Sender    *outbound.Sender     // sends proactive messages
	Answers   *disclose.Answers    // what callers of the API may see
	Approvals *approvals.Approvals // what people decide about
	Pairings  *approvals.Pairings  // people the gateway does not know yet
	Limits    *limits.Counter      // counts what is limited
	Refused   *refused.Log         // notes whose messages were refused
	Jobs      *jobs.Jobs           // lists, makes and changes jobs
	held      *outbound.HeldDeliveries
	outbox    *outbound.Outbox
	retirer   *outbound.Retirer
	keeper    *journal.Keeper
	sent      *journal.Metrics
	quota     *quota.Limiter

	sessions   *manage.Sessions
	deliveries *manage.Deliveries
	expirer    *manage.Expirer // used by the sweeper only
	commands   *commands.Commands
	triggers   *trigger.Triggers
	alerts     *alert.Alerts
	hooks      *hook.Hooks
	jobSource  *job.Source

	stopping atomic.Bool

	sweepStop context.CancelFunc
	sweepDone chan struct{}
}

// New creates a Router. It does nothing before Start and before the bus gives it partitions.
func New(c Config) (*Router, error) {
	if c.Store == nil || c.Bus == nil || c.Models == nil || c.Gate == nil || c.Monitor == nil || c.Adapters == nil || c.Settings == nil || c.Now == nil || c.Log == nil || c.Registerer == nil {
		return nil, errors.New("new router: a required field is not set")
	}
	if c.Partitions < 1 {
		return nil, errors.New("new router: want at least one partition")
	}
	r := &Router{
		now: c.Now, log: c.Log, metrics: newMetrics(c.Registerer),
		grace: cmp.Or(c.Grace, 4*time.Second), sweepEvery: cmp.Or(c.SweepEvery, 30*time.Second), alsoSweep: c.Sweep,
		receipts: journal.NewReceipts(), Limits: limits.New(limits.Config{Store: c.Limits, Now: c.Now, Log: c.Log, Registerer: c.Registerer}),
	}
	r.settings.Store(c.Settings)
	decided := pause.NewSignal()
	var changed func([]ledger.Node)
	if c.Nodes != nil {
		changed = c.Nodes.Changed
	}
	r.store = outbound.DecidingStore(c.Store, decided, changed)
	r.places = &place.Places{
		Store: r.store, Settings: r.settings.Load, SinkLevel: c.Gate.SinkLevel, Judge: c.Monitor.Reset, Now: c.Now, Partitions: c.Partitions,
	}
	r.steps = steps.New(steps.Config{
		Store: r.store, Bus: c.Bus, Wake: func(partition int, lane sessions.Lane) { r.lanes.Woken(partition, lane) },
		Limit: func() time.Duration { return r.settings.Load().RunTimeout }, Partitions: c.Partitions, Now: c.Now, Log: c.Log, Registerer: c.Registerer, Tracer: c.Tracer,
	})
	r.lanes = lanes.New(lanes.Config{
		Store: trigger.Lane{Store: r.store, In: func(partition int) bool { return r.triggers.In(partition) }}, Bus: c.Bus, Steps: r.steps,
		Worker: func(lane *lanes.Lane) lanes.Turn { return r.turnOf(lane) }, Released: r.released, Partitions: c.Partitions, Replica: c.Replica,
		Grace: r.grace, Log: c.Log, Owned: r.metrics.partitions,
	})
	r.newOutbound(c, decided)
	r.newAlerts(c)
	r.newTriggers(c)
	r.exchanges = exchange.New(exchange.Config{
		Store: r.store, Commit: r.lanes.Commit, Places: r.places, Invoke: c.Monitor.Invoke, Now: c.Now, Ended: r.metrics.exchanges,
		Stopping: r.stopping.Load, HasAgent: func(agent string) bool { return c.Models.ModelName(agent) != "" },
		Delivery: r.compose.Delivery, Limits: r.Limits, Spending: c.Spending, Tracer: c.Tracer,
	})
	r.newWork(c)
	r.manage(c)
	r.newIntake(c)
	return r, nil
}

// newWork prepares the stage that works runs. Employ completes it.
func (r *Router) newWork(c Config) {
	metrics := work.NewMetrics(c.Registerer)
	r.acks = work.NewAcks(c.Adapters, r.settings.Load, c.Log, metrics.Acks)
	files := attach.New(attach.Config{Adapters: c.Adapters, Settings: r.settings.Load, Transcribe: c.Transcribe, Read: c.ReadDocument, Now: c.Now, Log: c.Log})
	r.working = work.Config{
		Store: r.store, Monitor: c.Monitor, Gate: c.Gate, Composer: r.compose, Outbox: r.outbox, Receipts: r.receipts, Exchanges: r.exchanges,
		Approvals: r.Approvals,
		Quotas:    r.quota, Lanes: r.lanes, Steps: r.steps, Acks: r.acks, Places: r.places, Adapters: c.Adapters, Emit: c.Bus.Emit, Now: c.Now, Log: c.Log,
		Metrics: metrics, Sent: r.sent, CachedSessions: c.CachedSessions, Fetch: files.Fetch, Speaks: speaks(c.Speaker), Tracer: c.Tracer,
	}
}

// speaks reports whether replies can be spoken; nil: they can't.
func speaks(s outbound.Speaker) func() bool {
	if s == nil {
		return nil
	}
	return s.Speaks
}

// SetAgent sets the agent that works the runs. It is called once, before Start. The agent is created after the
// router, because its tools send through the router's stages.
func (r *Router) SetAgent(agent work.Agent) {
	r.working.Agent = agent
	r.workers = work.New(r.working)
	r.Intake.Workers = r.workers
}

// manage creates the stage through which operators and programs read, change and end sessions and deliveries.
func (r *Router) manage(c Config) {
	r.sessions = &manage.Sessions{
		Store: r.store, Places: r.places, Settings: r.settings.Load, Lanes: r.lanes, Events: c.Bus,
		ModelName: c.Models.ModelName, Stopping: r.stopping.Load, Now: c.Now, Log: c.Log,
	}
	r.deliveries = &manage.Deliveries{Store: r.store, Settings: r.settings.Load, Lanes: r.lanes, ApprovalOf: r.held.ApprovalOf, Now: c.Now}
	r.commands = &commands.Commands{
		Store: r.store, Tree: r.store, Places: r.places, Settings: r.settings.Load, Models: c.Models, Stops: r.sessions, SendPermissions: r.compose,
		Approvals: r.Approvals, Jobs: jobs.Drafts{Jobs: r.Jobs, Triggers: r.store}, Alerts: r.alerts, Nodes: c.Nodes, Settle: r.Pairings.Settlement, Speaks: speaks(c.Speaker), Spending: c.Spending, Now: c.Now,
	}
	r.expirer = &manage.Expirer{Store: r.store, Places: r.places, Settings: r.settings.Load, End: r.sessions.End, Now: c.Now, Log: c.Log}
}

// newIntake creates the stage that accepts events.
func (r *Router) newIntake(c Config) {
	r.Refused = &refused.Log{Store: c.Refusals, SinkLevel: c.Gate.SinkLevel, Now: c.Now, Log: c.Log}
	r.Intake = &inbound.Intake{
		Store: r.store, Buttons: r.store, Settings: r.settings.Load, Places: r.places, SinkLevel: c.Gate.SinkLevel, Commands: r.commands,
		Pairings: r.Pairings, Composer: r.compose, Routes: r.Routes, Adapter: c.Adapters, Lanes: r.lanes, Acks: r.acks, Refused: r.Refused, Limits: r.Limits, Emit: c.Bus.Emit,
		Stopping: r.stopping.Load, Now: c.Now, Log: c.Log, Metrics: inbound.NewMetrics(c.Registerer), Tracer: c.Tracer, Full: c.Full,
	}
}

// Sessions lets operators and programs read, change and end sessions.
func (r *Router) Sessions() *manage.Sessions { return r.sessions }

// Deliveries retries and discards deliveries.
func (r *Router) Deliveries() *manage.Deliveries { return r.deliveries }

// SendPermissions reports what sessions may send where.
func (r *Router) SendPermissions() *outbound.Composer { return r.compose }

// Exchanges runs the conversations between agents.
func (r *Router) Exchanges() *exchange.Exchanges { return r.exchanges }

// Places decides who may talk to the bot where, and in which session.
func (r *Router) Places() *place.Places { return r.places }

// newOutbound creates the stages that send messages and ask for decisions.
func (r *Router) newOutbound(c Config, decided pause.Signal) {
	settings := r.settings.Load
	r.sent = journal.NewMetrics(c.Registerer)
	r.compose = &outbound.Composer{
		Store: r.store, Gate: c.Gate, Adapter: c.Adapters, Places: r.places, Settings: settings, Partitions: c.Partitions, Now: c.Now,
	}
	r.quota = &quota.Limiter{Store: r.store, Disk: c.Disk, Settings: settings}
	r.Routes = &outbound.Routes{Store: r.store, Adapter: c.Adapters, Settings: settings, Failures: r.sent.Failures}
	r.held = &outbound.HeldDeliveries{Store: r.store, Composer: r.compose, Routes: r.Routes, Lanes: r.lanes, Now: c.Now, Log: c.Log}
	r.Sender = &outbound.Sender{Store: r.store, Composer: r.compose, Routes: r.Routes, Quota: r.quota, Lanes: r.lanes, Stopping: &r.stopping}
	r.Answers = &disclose.Answers{Store: r.store, Composer: r.compose, Held: r.held}
	r.outbox = &outbound.Outbox{
		Store: r.store, Composer: r.compose, Held: r.held, Lanes: r.lanes, Adapter: c.Adapters, Now: c.Now, Log: c.Log,
		Journal: &journal.Journal{Store: r.store, Receipts: r.receipts, Decided: decided, Now: c.Now, Log: c.Log, Metrics: r.sent},
		Metrics: r.sent, Speaker: c.Speaker, Tracer: c.Tracer,
	}
	r.retirer = &outbound.Retirer{
		Store: r.store, Adapter: c.Adapters, Composer: r.compose, Lanes: r.lanes, Now: c.Now, Log: c.Log, Every: r.sweepEvery, Decided: decided,
	}
	r.Approvals = &approvals.Approvals{
		Store: r.store, Composer: r.compose, Routes: r.Routes, Held: r.held, Monitor: c.Monitor, Lanes: r.lanes, Now: c.Now,
	}
	r.Pairings = &approvals.Pairings{Store: r.store, Composer: r.compose, Routes: r.Routes, Lanes: r.lanes, Now: c.Now}
	if c.Nodes != nil {
		c.Nodes.AskIn(r.Pairings.AskAboutNode, r.lanes.Commit)
	}
	r.keeper = &journal.Keeper{Store: r.store, Receipts: r.receipts, Lanes: r.lanes, Log: c.Log}
}

// Owner takes over and releases the partitions that the bus assigns.
func (r *Router) Owner() Owner { return Owner{r.lanes, r.steps} }

// released drops what the stages keep of a released partition.
func (r *Router) released(partition int) {
	r.workers.Released(partition)
	r.steps.Released(partition)
}

// turnOf creates the worker of a lane: for what is due in its partition, for a session's runs, or for a conversation's
// deliveries.
func (r *Router) turnOf(lane *lanes.Lane) lanes.Turn {
	switch lane.Name {
	case ledger.DueLane:
		return r.triggers.Worker(lane)
	case ledger.AlertLane:
		return r.alerts.Worker(lane)
	}
	if id, err := sessions.ParseID(string(lane.Name)); err == nil {
		return r.workers.Worker(lane, id)
	}
	return r.outbox.Worker(lane)
}

// newTriggers creates the stages that act without a message.
func (r *Router) newTriggers(c Config) {
	r.jobSource = &job.Source{
		Store: r.store, Lanes: r.lanes, Settings: r.settings.Load, Partitions: c.Partitions, Now: c.Now, Metrics: job.NewMetrics(c.Registerer),
		Report: func(job string, err error) { c.Log.Error("job", "job", job, "err", err) }, Alerts: r.alerts,
	}
	r.hooks = &hook.Hooks{
		Store: r.store, Lanes: r.lanes, Stopping: r.stopping.Load, Full: c.Full, Partitions: c.Partitions, Now: c.Now, Metrics: hook.NewMetrics(c.Registerer), Alerts: r.alerts,
	}
	r.triggers = &trigger.Triggers{
		Sources: map[ledger.TriggerSource]trigger.Source{ledger.TriggerCron: r.jobSource, ledger.TriggerHook: r.hooks},
		Store:   r.store, Lanes: r.lanes, Places: r.places, Composer: r.compose, Routes: r.Routes, Settings: r.settings.Load, Now: c.Now, Log: c.Log,
	}
	r.jobSource.Configure(c.Jobs, c.JobReader)
	r.hooks.Configure(c.Hooks)
	r.Jobs = &jobs.Jobs{Store: r.store, Commit: r.lanes.Commit, Configuration: r.jobSource, Partitions: c.Partitions, Now: c.Now}
}

// newAlerts creates the stage that takes alerts in and tells people.
func (r *Router) newAlerts(c Config) {
	r.alerts = &alert.Alerts{
		Store: r.store, Groups: r.store, Lanes: r.lanes, Composer: r.compose, Routes: r.Routes, Adapter: c.Adapters, Settings: r.settings.Load,
		Partitions: c.Partitions, Now: c.Now, Log: c.Log, Metrics: alert.NewMetrics(c.Registerer),
	}
	r.alerts.Configure(c.Alerts)
	c.Registerer.MustRegister(&alert.Gauge{Store: r.store, Log: c.Log})
}

// Alerts takes alerts in and tells people.
func (r *Router) Alerts() *alert.Alerts { return r.alerts }

// AddSource adds what triggers of another kind do. It must be called before the first partition is owned.
func (r *Router) AddSource(name ledger.TriggerSource, source trigger.Source) {
	r.triggers.Sources[name] = source
}

// Hooks takes requests to hooks in.
func (r *Router) Hooks() *hook.Hooks { return r.hooks }

// JobSource says when jobs are due and what they do.
func (r *Router) JobSource() *job.Source { return r.jobSource }

// Configure gives the stages new settings. Work in progress finishes with the old ones.
func (r *Router) Configure(s *place.Settings) {
	r.settings.Store(s)
	r.workers.Reopen()
}

// Start starts sweeping for lost wakes and expired sessions.
func (r *Router) Start() {
	r.acks.Start()
	r.retirer.Start()
	ctx, cancel := context.WithCancel(context.Background())
	r.sweepStop, r.sweepDone = cancel, make(chan struct{})
	pruner := pruner{store: r.store, now: r.now, keeps: func() place.Retention { return r.settings.Load().Retention }, mine: func() bool { return r.lanes.Owns(0) }, step: r.pruned}
	go func() {
		defer close(r.sweepDone)
		var beside sync.WaitGroup
		beside.Go(func() { pruner.run(ctx) })
		beside.Go(func() { r.keeper.Run(ctx) })
		beside.Go(func() { r.Refused.Run(ctx) })
		r.sweep(ctx)
		beside.Wait()
	}()
}

// StopIntake makes the intake refuse all further events.
func (r *Router) StopIntake() { r.stopping.Store(true) }

// Stop ends the sweeping and gives back the partitions that the bus still assigns to this replica. It is idempotent.
func (r *Router) Stop(ctx context.Context) {
	r.StopIntake()
	if r.sweepStop != nil {
		r.sweepStop()
		<-r.sweepDone
	}
	r.lanes.ReleaseAll(ctx)
	r.keeper.StoreRest(ctx)
	r.Refused.StoreRest(ctx)
	r.acks.Stop()
	r.retirer.Stop()
}

func (r *Router) sweep(ctx context.Context) {
	pause.Rounds(ctx, r.sweepEvery, r.sweepEvery, r.log, func(ctx context.Context) {
		r.lanes.RescanAll()
		r.expirer.Sweep(ctx)
		r.held.ExpireAll(ctx)
		r.sweepMemories(ctx)
		if r.alsoSweep != nil {
			r.alsoSweep(ctx)
		}
	})
}

// pruned counts a step of retention.
func (r *Router) pruned(kind ledger.PruneKind, err error, p ledger.Pruned) {
	r.metrics.pruned.WithLabelValues(string(kind)).Add(float64(p.Removed))
	if err != nil {
		r.log.Error("old rows not removed", "kind", string(kind), "err", err)
	}
}
