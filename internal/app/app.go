package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"sluice/internal/agent"
	"sluice/internal/agent/roster"
	"sluice/internal/backup"
	"sluice/internal/bus"
	"sluice/internal/clock"
	"sluice/internal/config"
	"sluice/internal/config/agents"
	"sluice/internal/configfile"
	"sluice/internal/faultpoint"
	"sluice/internal/hostos"
	"sluice/internal/httpapi"
	"sluice/internal/logs"
	"sluice/internal/mcp"
	"sluice/internal/model"
	"sluice/internal/model/fallback"
	"sluice/internal/model/meter"
	"sluice/internal/model/near"
	"sluice/internal/sandbox"
	"sluice/internal/selfcheck"
	"sluice/internal/skill"
	"sluice/internal/starting"
	"sluice/internal/supervisor"
	"sluice/internal/telemetry"
	"sluice/internal/voice"
	"sluice/internal/watermark"
	"sluice/internal/web"
	"sluice/internal/workspace"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router"
	"sluice/router/checks"
	"sluice/router/commands"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/sessions"
	"sluice/store"
)

// stopTimeout bounds an orderly stop. Work that is unfinished then is cancelled and continues at the next start.
const stopTimeout = 9 * time.Second

// closeTimeout is the minimum time for closing the store.
const closeTimeout = 500 * time.Millisecond

// App is one gateway process. Start and Stop are for one goroutine each; Stop is idempotent.
type App struct {
	// Source is where the configuration comes from. It is set before Start.
	Source configfile.Source

	cfg      *config.Config
	version  string
	clock    *clock.Clock
	now      func() time.Time // clock.Now
	log      *slog.Logger
	registry *prometheus.Registry
	replica  string
	others   others
	rows     func(*store.DB) *ledger.Store // the store as the router sees it

	token      atomic.Pointer[string] // of the API
	reader     atomic.Pointer[string] // of programs that read the bus
	listener   net.Listener
	store      *store.DB
	bus        *bus.Bus
	rules      atomic.Pointer[policy.Rules] // of the gate and the monitor
	gate       liveGate
	monitor    liveMonitor
	secrets    *liveSecrets
	lines      *logs.Keeper      // of the log
	tracer     *telemetry.Tracer // nil: traces are off
	models     atomic.Pointer[model.Registry]
	fallback   *fallback.Fallback
	meter      *meter.Meter
	near       *near.Watch
	voices     voice.Voice
	nkeys      atomic.Pointer[map[string]string] // of agents' programs
	carriers   carriers
	roster     *roster.Roster
	loop       *agent.Loop
	router     *router.Router
	channels   *supervisor.Accounts
	nodes      *nodeParts // nil: nodes are disabled
	supervisor *supervisor.Supervisor
	mcp        *mcp.Servers
	checks     *checks.Checks
	unwatch    func()                        // ends the watch over the gateway's own troubles; nil: it has not begun
	unfollow   func()                        // stops following the database's clock; nil: it is not followed
	limits     atomic.Pointer[config.Limits] // the limits in effect
	notify     atomic.Pointer[agents.Push]   // where notifications of tasks may go
	files      workspace.Opener
	space      workspace.Disk  // measures a disk
	disk       *watermark.Disk // of the state
	trail      *selfcheck.Trail
	skills     *skill.Keeper
	sandbox    *sandbox.Bubblewrap
	limited    string // how the commands of agents are limited
	file       *configfile.File
	http       *httpapi.Server
	up         atomic.Bool // Start has finished
	stopped    bool
}

// New creates a gateway from a checked configuration. Nothing runs before Start.
func New(cfg *config.Config, version string, log *slog.Logger) *App {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	clock := clock.New(faultpoint.Clock())
	a := &App{
		cfg: cfg, version: version, clock: clock, now: clock.Now, registry: registry, replica: replicaName(), secrets: &liveSecrets{},
		rows: ledger.NewStore[*store.DB], space: hostos.Space, sandbox: sandbox.New("", clock.Now),
	}
	a.lines = logs.New(a.now(), func(text string) string { return a.secrets.Load().Redact(text) })
	a.tracer = telemetry.New(telemetry.Config{
		URL: cfg.Telemetry.OTLP.Reveal(), Headers: cfg.Telemetry.HeaderValues(), Sample: cfg.Telemetry.Sample.Number(), Version: version, Instance: a.replica,
		Now: a.now, Log: log, Registerer: registry,
	})
	a.log = slog.New(quiet{a.tracer.Handler(a.lines.Handler(log.Handler()))})
	a.voices.Models, a.voices.Sandbox, a.voices.Limits, a.voices.Now = &a.models, a.sandbox, a.commandLimits, a.now
	return a
}

// Start starts the gateway. After an error everything that was started is stopped again.
func (a *App) Start(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
			defer cancel()
			a.Stop(stopping)
		}
	}()
	if err := os.MkdirAll(a.cfg.State, 0o700); err != nil {
		return fmt.Errorf("make state folder (set state or $SLUICE_STATE to one that can be written): %w", err)
	}
	if err := backup.Sweep(a.cfg.State); err != nil {
		a.log.Warn("the leftovers of a backup could not be removed: each may have a copy of the database", "folder", a.cfg.State, "error", err)
	}
	if a.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", a.cfg.Gateway.Listen); err != nil {
		return fmt.Errorf("listen on %s (is another gateway running? change gateway.listen or use --listen): %w", a.cfg.Gateway.Listen, err)
	}
	token, err := apiToken(a.cfg)
	if err != nil {
		return err
	}
	a.setToken(a.cfg, token)
	if err := a.openStoreAndBus(ctx); err != nil {
		return err
	}
	a.unfollow = followClock(a)
	if err := a.store.FixPartitions(ctx, a.cfg.Limits.Partitions); err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	if err := a.wire(); err != nil {
		return err
	}
	if a.cfg.Bus.URL.Reveal() != "" {
		a.others = newOthers(a.bus.Replicas, a.version, databaseOf(ctx, a.cfg, a.replica, a.store, a.log), a.cfg)
	}
	a.tracer.Start()
	a.http.Start(a.listener)
	a.mcp.Configure(mcpServers(a.cfg))
	a.router.Start()
	a.awaitTools(ctx)
	if err := a.bus.Own(ctx, a.router.Owner()); err != nil {
		return fmt.Errorf("take partitions: %w", err)
	}
	a.supervisor.Start()
	a.warnShared(ctx, a.cfg)
	a.up.Store(true)
	a.fallback.Start(ctx)
	a.unwatch = a.watchTroubles()
	return nil
}

// toolsTimeout bounds how long a start waits for the first connections to MCP servers.
const toolsTimeout = 3 * time.Second

// awaitTools gives MCP servers time to connect before any work starts: without it, a call that waited for approval
// when the last process ended would not find its tool.
func (a *App) awaitTools(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, toolsTimeout)
	defer cancel()
	a.mcp.Tried(ctx)
}

// openStoreAndBus starts both in parallel; each takes a part of the start's time. If one of their servers is
// unavailable it waits, until ctx ends.
func (a *App) openStoreAndBus(ctx context.Context) error {
	w := starting.New(a.listener, a.log, *a.token.Load(), a.version)
	soon := time.AfterFunc(starting.Shown, w.Begin)
	defer soon.Stop()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return w.Until(ctx, "store", func() (err error) {
			a.store, err = a.openStore(ctx, nil)
			return err
		})
	})
	g.Go(func() error { return w.Until(ctx, "bus", func() error { return a.startBus(ctx) }) })
	err := g.Wait()
	return errors.Join(err, w.Stop())
}

// startBus starts the bus. An embedded bus either starts at once or never.
func (a *App) startBus(ctx context.Context) error {
	metrics := prometheus.NewRegistry() // for this attempt
	b, err := bus.Start(ctx, bus.Config{
		URL: a.cfg.Bus.URL.Reveal(), Dir: a.cfg.State, Listen: a.cfg.Bus.Listen, Reader: func() string { return *a.reader.Load() }, Agent: a.agentOf, Partitions: a.cfg.Limits.Partitions, Replica: a.replica,
		Now: a.now, Log: a.log, Registerer: metrics,
	})
	if err == nil {
		a.bus = b
		return a.registry.Register(metrics)
	}
	err = fmt.Errorf("start bus: %w", err)
	if a.cfg.Bus.URL.Reveal() == "" {
		return starting.FatalError{Err: err}
	}
	return err
}

// busReader is the token with which programs may read the embedded bus: the gateway's, unless its holder may not see
// everything.
func busReader(c *config.Config, token string) string {
	if c.Gateway.Classification != flow.Restricted {
		return ""
	}
	return token
}

// setToken puts a token into effect everywhere except for callers of the API.
func (a *App) setToken(c *config.Config, token string) {
	reader := busReader(c, token)
	a.token.Store(&token)
	a.reader.Store(&reader)
}

// replicaName tells this process from all others, including the previous one.
func replicaName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "gateway"
	}
	return host + "-" + uuid.NewString()[:8]
}

// wire creates the parts between the store and the platforms.
func (a *App) wire() error {
	a.mcp = mcp.New(mcp.Config{Version: a.version, Now: a.now, Log: a.log, Registerer: a.registry})
	a.nodes = newNodes(a)
	a.meter = &meter.Meter{Ledger: a.store, Now: a.now, Log: a.log}
	a.voices.Meter = a.meter
	a.fallback, a.near = newFallback(a), newNear(a)
	p, err := a.prepare(a.cfg, *a.token.Load())
	if err != nil {
		return err
	}
	a.adopt(p)
	if a.channels, err = newAccounts(a); err != nil {
		return fmt.Errorf("configure channels: %w", err)
	}
	a.files.Marks, a.files.Quota = a.store, workspace.NewQuota(a.bounds, a.space, a.now)
	a.disk, a.trail, a.carriers = newDisk(a), &selfcheck.Trail{Verify: a.store.VerifyAudit, Log: a.log}, newCarriers(a)
	selfcheck.Register(a.registry, a.disk, a.trail)
	a.roster = roster.New(agentSettings(a.cfg, a.monitor.Load(), a.carriers))
	a.skills = &skill.Keeper{Pins: a.store, Settings: func() skill.Settings { return a.roster.Settings().Skills }, Now: a.now}
	a.router, err = router.New(router.Config{
		Store: a.rows(a.store), Bus: a.bus, Models: models{a.roster, a.chooseModel, a.maxTemperature, a.fallback.Clear}, Gate: &a.gate, Monitor: &a.monitor, Adapters: a.channels.Find, Transcribe: a.voices.Transcribe, Speaker: &a.voices, ReadDocument: documents(a.log, a.sandbox).Text,
		Settings: routerSettings(a.cfg), Partitions: a.cfg.Limits.Partitions, Replica: a.replica, Now: a.now, Log: a.log, Registerer: a.registry,
		Sweep: func(ctx context.Context) { sweepCalls(ctx, a) }, Limits: a.store, Refusals: a.store, Spending: a.store, Tracer: a.tracer, Disk: a.diskSpace, Full: diskFull(a), Jobs: a.cfg.Jobs(), JobReader: a.cfg, Hooks: a.cfg.ReadHooks(func(string, string) {}), Alerts: a.cfg.AlertPlan(), Nodes: a.nodes,
	})
	if err != nil {
		return fmt.Errorf("make router: %w", err)
	}
	a.voices.Send = a.router.Sender.Send
	groups, why := sandbox.OpenGroups()
	a.limited = sandbox.Words(why)
	a.log.Debug("control groups for the commands of agents", "state", a.limited) // doctor shows it
	a.loop, err = agent.New(agent.Config{
		Roster: a.roster, Store: a.store, Memories: a.store, Todos: a.store, Models: a.model, Choose: a.chooseModel, Now: a.now, Log: a.log, Registerer: a.registry,
		Files: &a.files, Skills: a.skills, MediaMax: func() int64 { return int64(a.limits.Load().MaxMediaBytes) }, CommandLimits: a.commandLimits, CommandGroups: groups, Archived: a.store.ArchivedSession,
		Exchanges: exchanges{a.router.Exchanges(), a.router.Sessions(), a.router.Places()}, Sandbox: a.sandbox, Remote: a.mcp.Tools, Pages: web.New(),
		Target: func(name string) (outbound.Proactive, bool) {
			t, ok := a.target(name)
			return outbound.Proactive{Channel: t.Channel, Account: t.Account, To: t.To, Thread: t.Thread}, ok
		},
		Send: a.router.Sender.Send, CheckPolicy: a.router.Sender.CheckPolicy, Jobs: a.router.Jobs, Alerts: alertTools(a.router.Alerts()),
		Spending: standings(a),
		Media: func(ctx context.Context, id sessions.MediaID) ([]byte, error) {
			m, err := a.store.Media(ctx, id)
			return m.Content, err
		},
	})
	if err != nil {
		return fmt.Errorf("make agent loop: %w", err)
	}
	a.router.SetAgent(a.loop)
	a.checks = a.newChecks()
	a.router.JobSource().Checks, a.router.JobSource().Instructions = a.checks, a.heartbeatInstructions
	a.supervisor = supervisor.New(supervisor.Config{
		Adapters: a.channels.All(), Acceptor: a.router.Intake, Leases: a.bus, Commands: commands.Menu(),
		Now: a.now, Log: a.log, Registerer: a.registry,
	})
	a.file = newFile(a)
	return a.newHTTP()
}

// Stop ends the gateway in an orderly way within the context's time. Nothing is lost if the time runs out: the next
// process continues.
func (a *App) Stop(ctx context.Context) {
	if a.stopped {
		return
	}
	a.stopped = true
	if a.file != nil {
		a.file.Stop()
	}
	if a.unwatch != nil {
		a.unwatch()
	}
	a.fallback.Stop()
	if a.router != nil {
		a.router.StopIntake()
	}
	if a.nodes != nil {
		a.nodes.Adapter.Stop()
	}
	if a.supervisor != nil {
		a.supervisor.Stop()
	}
	if a.checks != nil {
		a.checks.Stop()
	}
	if a.bus != nil {
		a.bus.Handover(ctx)
	}
	if a.router != nil {
		a.router.Stop(ctx)
	}
	if a.mcp != nil {
		a.mcp.Stop()
	}
	a.carriers.stop()
	a.stopServers(ctx)
	a.tracer.Stop(ctx)
}

func (a *App) stopServers(ctx context.Context) {
	var errs []error
	switch {
	case a.http != nil:
		errs = append(errs, a.http.Stop(ctx))
	case a.listener != nil:
		errs = append(errs, a.listener.Close())
	}
	if a.bus != nil {
		a.bus.Stop(ctx)
	}
	if a.unfollow != nil {
		a.unfollow()
	}
	if a.store != nil {
		errs = append(errs, a.closeStore(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		a.log.Error("gateway did not stop cleanly", "err", err)
	}
}

// closeStore closes the store, but waits for a database that hangs only as long as the stop may take. Its goroutine
// ends with the close, or with the process.
func (a *App) closeStore(ctx context.Context) error {
	closed := make(chan error, 1)
	go func() { closed <- a.store.Close() }()
	select {
	case err := <-closed:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-closed:
		return err
	case <-time.After(closeTimeout): // even if the rest of the stop has used up its time
		return errors.New("close store: the database does not respond; unfinished work continues at the next start")
	}
}

// Addr returns the address on which the gateway serves.
func (a *App) Addr() net.Addr { return a.http.Addr() }
