package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"sluice/adapters"
	"sluice/adapters/webchat"
	"sluice/internal/agent"
	"sluice/internal/agent/tools/memory"
	"sluice/internal/bus"
	"sluice/internal/config"
	"sluice/internal/console"
	"sluice/internal/httpapi"
	"sluice/internal/httpapi/a2aserver"
	"sluice/internal/httpapi/conversation"
	"sluice/internal/httpapi/files"
	"sluice/internal/httpapi/operator"
	"sluice/internal/web"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/backtest"
	"sluice/router/ledger"
	"sluice/sessions"
)

// bodySpare is the space in a request's body for everything except the text. JSON escapes can make the text six times
// as long.
const bodySpare = 64 << 10

func (a *App) newHTTP() error {
	access, err := accessOf(a.cfg, *a.token.Load())
	if err != nil {
		return err
	}
	faces := faces{a.roster}
	a.http = httpapi.New(httpapi.Config{
		Gateway: httpapi.Gateway{
			Resolver: a.router.Sessions(), Sessions: a.router.Sessions(), Turns: a.router.Intake, Work: a.router.Sessions(), Gate: a.router.Answers,
			SendPermissions: a.router.SendPermissions(), Checker: a.router.Sender, Past: &backtest.Past{Store: a.store, Composer: a.router.Sender.Composer, Now: a.now}, Outbox: a.router.Sender, Directory: a.router.Routes, Deliveries: a.router.Deliveries(), Tasks: a.router.Exchanges(),
			Approver: a.router.Approvals, Always: a.router.Approvals, Pairings: a.router.Pairings, Jobs: a.router.Jobs, Memories: &memory.Tools{Store: a.store, Roster: a.roster, Now: a.now}, Places: a.router.Places(), PlaceSettings: a.router.Places().Settings, Heartbeats: a.router.Jobs, Events: a.bus, Live: bus.Everything{Bus: a.bus}, Steps: a.bus, Simulator: simulator{a.loop}, Nodes: a.nodes, Hooks: a.router.Hooks(), Alerts: a.router.Alerts(),
		},
		Rows: httpapi.Rows{
			Sessions: a.store, Tree: a.store, Runs: a.store, Deliveries: a.store, Media: a.store, Exchanges: a.store, Approvals: a.store, Allow: a.store, Policies: a.store,
			Memories: a.store, Pairings: a.store, Audit: a.store, Hooks: a.store, Denials: a.store, Access: a.store, Overview: a.store, Live: a.store, Why: a.store, Notes: a.store, People: a.store, Usage: a.store,
		},
		Models: conversation.Models{Default: a.roster.ModelName, Check: a.chooseModel, MaxTemperature: a.maxTemperature},
		Files:  files.Source{Space: a.roster.Space, Level: a.roster.FileLevel, Opener: &a.files},
		Parts:  func(ctx context.Context) []operator.Health { return append(a.components(ctx), a.others.part()...) }, Accounts: a.supervisor.States, Callback: a.callback,
		Rules: func() []policy.ListedRule { return a.gate.Load().Listed() }, Proposal: a.file.Proposal, Page: console.Handler(a.cfg.Channels.Webchat.Enabled), PageRoute: webchat.Route(), PagePerson: sessions.Peer{ID: webchat.Person, Name: "You"},
		Targets: a.target, Published: faces.models, Peers: faces.peers, Push: a.push(), PublicURL: a.cfg.Gateway.PublicURL, Checks: a.checks, Agents: listedAgents{a.roster, a.loop, a.bus.Agents, a.log}, Providers: a.fallback.API(), Settings: a.file, Budgets: standings(a), Logs: a.lines, Alerting: a.alerting(), Skills: skillHandlers(a.skills, a.roster),
		Metrics: promhttp.HandlerFor(a.registry, promhttp.HandlerOpts{EnableOpenMetrics: a.tracer.On()}),
		Access:  access, SinkLevel: a.gate.SinkLevel, Within: requestsOf(a), MaxBody: int64(a.cfg.Limits.MaxMessageBytes)*6 + bodySpare,
		MaxUpload: int64(a.cfg.Limits.MaxMessageBytes)*6 + 2*int64(a.cfg.Limits.MaxMediaBytes)*4/3 + bodySpare, // base64 makes files longer
		Version:   a.version, Commands: a.limited, Now: a.now, Log: a.log, Registerer: a.registry,
	})
	a.router.AddSource(ledger.TriggerPush, a.http.Notifications())
	return nil
}

// push is what notifications of tasks need.
func (a *App) push() a2aserver.Push {
	public, private := sync.OnceValue(web.New), sync.OnceValue(web.NewPrivate)
	return a2aserver.Push{
		Settings: func() a2aserver.PushSettings {
			p := a.notify.Load()
			return a2aserver.PushSettings{Hosts: p.Hosts, Private: p.Private, Level: p.Level()}
		},
		Store: a.store, Commit: a.router.Owner().Commit, Public: poster(public), Private: poster(private), Partitions: a.cfg.Limits.Partitions,
	}
}

// poster makes a fetcher when it is first needed.
type poster func() *web.Fetcher

// Post implements [a2aserver.Poster].
func (p poster) Post(ctx context.Context, address string, header http.Header, body []byte) (int, error) {
	return p().Post(ctx, address, header, body)
}

// simulator simulates tool calls with the agent's own tools.
type simulator struct{ loop *agent.Loop }

// Simulate implements [operator.Simulator].
func (s simulator) Simulate(ctx context.Context, c operator.Simulated) (policy.Simulation, error) {
	return s.loop.Simulate(ctx, c.Session, sessions.Caller{Route: c.Session.Route, User: c.Speaker, Owner: c.Owner, Reader: c.Reader}, c.Tool, c.Args)
}

// hosts returns the names under which others may call the gateway.
func hosts(g config.Gateway) ([]string, error) {
	hosts := append([]string(nil), g.AllowedHosts...)
	if host, _, err := net.SplitHostPort(g.Listen); err == nil && host != "" {
		hosts = append(hosts, host)
	}
	if public := g.PublicURL; public != "" {
		u, err := url.Parse(public)
		if err != nil {
			return nil, fmt.Errorf("read gateway.publicURL: %w", err)
		}
		hosts = append(hosts, u.Hostname())
	}
	return hosts, nil
}

// callback handles a platform's requests for an account.
func (a *App) callback(channel, account string) (http.Handler, bool) {
	found, ok := a.channels.Find(channel, account)
	if !ok {
		return nil, false
	}
	c, ok := found.(adapters.Callback)
	in := a.supervisor.Acceptor(channel, account)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.ServeCallback(w, r, in) }), ok && in != nil
}

// errStarting means that the server answers, but work has not started.
var errStarting = errors.New("starting: taking over partitions and channels")

// components returns the state of the gateway's components.
func (a *App) components(ctx context.Context) []operator.Health {
	parts := []operator.Health{part("store", a.store.Ready(ctx)), busPart(a.bus.Ready())}
	if !a.up.Load() {
		parts = append(parts, part("gateway", errStarting))
	}
	if full := diskFull(a); full != nil {
		parts = append(parts, part("disk", full()))
	}
	for _, s := range a.supervisor.States() {
		parts = append(parts, accountPart(&s, a.gate.SinkLevel(sessions.Route{Channel: s.Channel, Account: s.Account})))
	}
	return append(parts, a.mcpComponents()...)
}

// accountPart is an account as a component. This replica is ready without an account that another one serves.
func accountPart(s *adapters.State, level flow.Level) operator.Health {
	p := operator.Health{Kind: "channels", Level: level, Name: s.Channel + "/" + s.Account, OK: s.Hears(), Optional: s.Status == adapters.Standby, Detail: s.Detail}
	if !p.OK {
		p.Detail = cmp.Or(p.Detail, string(s.Status))
	}
	return p
}

// busPart is the bus as a component. The gateway is ready without live events and the steps of exchanges.
func busPart(err error) operator.Health {
	p := part("bus", err)
	p.Optional = errors.Is(err, bus.ErrPartial)
	return p
}

func part(name string, err error) operator.Health {
	if err != nil {
		return operator.Health{Name: name, Detail: err.Error()}
	}
	return operator.Health{Name: name, OK: true}
}
