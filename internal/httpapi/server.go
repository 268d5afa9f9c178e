// Package httpapi is the gateway's HTTP server: the API for programs and for the page, the platforms' callbacks, health
// and metrics.
//
// Who may call: everything but /healthz, /readyz, /login, the platforms' signed callbacks and the page's files needs a
// token, or a browser that was signed in with one (package signin). A token has a level and a role, which bound what its bearer sees and does (package auth). Before that, a request must
// name a host of this gateway and must not come from another site, so that no page in somebody's browser can drive a
// local gateway (guard).
//
// How it is cut: routes.go lists every route with its handler. Handlers stand in groups, one type each, with the ports
// that they need as fields: package conversation serves what is about one conversation, package operator what operators
// look after. handlers.go wires them. Package view decides what a caller may know of, denials notes for the operator what
// was hidden, wire is the connection: errors, streams, limits.
//
// Failure rules: an error is {"error": code, "message": text} and shows nothing internal. What is missing, foreign or
// hidden is the same 404. Handlers return errors as they are; package problem turns them into responses.
//
// Goroutines: the server's own, that of the denials and that of the callers' access, which Stop waits for. Event streams end with Stop.
package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/adapters"
	"sluice/internal/httpapi/a2aserver"
	"sluice/internal/httpapi/alerts"
	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/conversation"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/files"
	"sluice/internal/httpapi/hooks"
	"sluice/internal/httpapi/live"
	"sluice/internal/httpapi/mcpserver"
	"sluice/internal/httpapi/nodes"
	"sluice/internal/httpapi/openai"
	"sluice/internal/httpapi/operator"
	"sluice/internal/httpapi/overview"
	"sluice/internal/httpapi/people"
	"sluice/internal/httpapi/policies"
	"sluice/internal/httpapi/providers"
	"sluice/internal/httpapi/senders"
	"sluice/internal/httpapi/settings"
	"sluice/internal/httpapi/signin"
	"sluice/internal/httpapi/skills"
	"sluice/internal/httpapi/usage"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/why"
	"sluice/internal/httpapi/wire"
	"sluice/internal/workspace"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/branches"
	"sluice/router/place"
	"sluice/router/trigger"
	"sluice/sessions"
)

// Gateway is what the API asks the gateway to do, each port by the handlers that use it.
type Gateway struct {
	Resolver        view.Resolver
	Sessions        conversation.SessionKeeper
	Turns           conversation.Turns
	Work            conversation.Work
	Gate            conversation.Gate
	SendPermissions conversation.SendPermissions
	Events          conversation.Events
	Live            live.Events
	Steps           conversation.Steps
	Tasks           conversation.Tasks
	Outbox          operator.Outbox
	Directory       operator.Directory
	Deliveries      operator.DeliveryKeeper
	Approver        operator.Approver
	Always          operator.Always
	Pairings        operator.Pairings
	Jobs            operator.Jobs
	Memories        operator.MemoryWriter
	Places          people.Rights
	PlaceSettings   func() *place.Settings
	Heartbeats      conversation.Heartbeats
	Checker         operator.PolicyChecker
	Past            policies.Past
	Simulator       operator.Simulator
	Nodes           nodes.Nodes
	Hooks           Hooks
	Alerts          alerts.Keeper
}

// Hooks takes requests to hooks in, and replays them.
type Hooks interface {
	hooks.Hooks
	hooks.Keeper
}

// Rows is what the API reads from the store, by kind.
type Rows struct {
	Sessions   conversation.SessionRows
	Tree       branches.Tree
	Runs       conversation.RunRows
	Exchanges  conversation.ExchangeRows
	Deliveries operator.DeliveryRows
	Media      MediaRows
	Approvals  operator.ApprovalRows
	Policies   policies.Rows
	Allow      operator.AllowRows
	Memories   operator.MemoryRows
	Pairings   operator.PairingRows
	Audit      operator.AuditRows
	Hooks      hooks.Rows
	Denials    denials.Committer // stores what callers were not shown in the audit trail
	Access     AccessStore
	Overview   overview.Rows
	Live       live.Rows
	Why        why.Rows
	Notes      why.Notes // required with alerts
	People     people.Rows
	Usage      UsageRows
}

// AccessStore has the tokens and sign-ins.
type AccessStore interface {
	auth.Rows
	auth.UseStore
	signin.Store
}

// UsageRows reads the calls of models, added up or one by one.
type UsageRows interface {
	usage.Ledger
	operator.CallRows
	conversation.RunCalls
}

// MediaRows reads files, whole or without their content.
type MediaRows interface {
	operator.MediaRows
	view.MediaInfo
}

// Access is who may call, and by which names. It can change while the server runs.
type Access struct {
	Tokens []auth.Credential // the gateway's own is the first
	Proxy  auth.Proxy        // whose headers are trusted
	Hosts  []string          // further Host names that requests may carry, without port
}

// Config is what a Server needs. All fields but Alerting and Within are required.
type Config struct {
	Gateway    Gateway
	Rows       Rows
	Models     conversation.Models
	Published  func() []openai.Agent
	Peers      func() []a2aserver.Agent // as other agents may know them
	Push       a2aserver.Push           // of the ends of their tasks; without Tokens and Now
	PublicURL  string                   // under which others reach the gateway; empty: that of a request
	Files      files.Source
	Parts      func(ctx context.Context) []operator.Health
	Accounts   func() []adapters.State
	Callback   func(channel, account string) (http.Handler, bool)
	Page       http.Handler
	Rules      func() []policy.ListedRule                 // of the gate
	Proposal   func(text string) (policy.Proposal, error) // reads a proposed policy
	Targets    senders.Targets                            // places for notes
	Checks     operator.Checks
	Agents     operator.Agents
	Providers  *providers.API
	Skills     skills.API // without Visible
	Settings   settings.Keeper
	Budgets    usage.Standings
	Logs       operator.Logs
	Alerting   *senders.Alerting // nil: alerts are not taken in
	PageRoute  sessions.Route    // of everyone who speaks over the API or on the page
	PagePerson sessions.Peer     // the owner there
	Metrics    http.Handler
	Access     Access
	SinkLevel  func(route sessions.Route) flow.Level // the highest level that may be said by a route
	// Within counts a request with a token. The error says why it is refused; nil: requests are not limited.
	Within     func(ctx context.Context, who auth.Caller) error
	MaxBody    int64 // bytes of a request's body
	MaxUpload  int64 // bytes of the body of a request that may carry files
	Version    string
	Commands   string // how the commands of agents are limited
	Now        func() time.Time
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	headerMax     = 32 << 10 // bytes
)

// Server is the HTTP server. Start and Stop are for one goroutine; Stop is idempotent.
type Server struct {
	handler http.Handler
	tasks   *a2aserver.Notifier
	denials *denials.Trail
	tokens  *auth.Tokens
	hosts   atomic.Pointer[[]string]
	keeper  *auth.Keeper
	log     *slog.Logger

	ending     context.Context
	endStreams context.CancelFunc
	serving    sync.WaitGroup

	mu    sync.Mutex
	doors []*door // the last one is open
}

// New makes a server; it serves nothing before Start. The routes other than the probes' are made for the first request that needs
// them: the description of the API takes a third of a start's time.
func New(cfg Config) *Server {
	s := &Server{
		log:     cfg.Log,
		denials: denials.New(denials.Config{Store: cfg.Rows.Denials, Now: cfg.Now, Log: cfg.Log, Registerer: cfg.Registerer}),
	}
	tokens := auth.NewTokens(auth.Config{
		Credentials: cfg.Access.Tokens, PageLevel: func() flow.Level { return cfg.SinkLevel(cfg.PageRoute) }, Rows: cfg.Rows.Access, Proxy: cfg.Access.Proxy, Now: cfg.Now,
	})
	s.tokens = tokens
	s.hosts.Store(&cfg.Access.Hosts)
	s.keeper = auth.NewKeeper(tokens, cfg.Rows.Access, cfg.Log)
	ending, end := context.WithCancel(context.Background())
	s.ending, s.endStreams = ending, end
	limit := bodyLimit(cfg.MaxBody, cfg.MaxUpload)
	h := newHandlers(ending, &cfg, tokens, s.denials)
	s.tasks = a2aserver.NewNotifier(h.a2a)
	guarded := func(isOpen func(*http.Request) bool, next http.Handler) http.Handler {
		return (&guard{tokens: tokens, denials: s.denials, hosts: func() []string { return *s.hosts.Load() }, isOpen: isOpen, within: cfg.Within, maxBytes: limit, log: cfg.Log}).protect(next)
	}
	probes := h.probes(problems{cfg.Log})
	probe := guarded(func(*http.Request) bool { return true }, probes)
	routes := sync.OnceValue(func() http.Handler {
		api := newRegistrar(cfg.Version, cfg.Log, limit)
		h.register(api)
		checked := guarded(api.isOpen, wire.Strict(api.mux, api.OpenAPI(), refuse))
		api.mux.Handle(mcpserver.Path, mcpserver.New(mcpserver.Config{API: checked, Ending: ending, MaxBody: cfg.MaxBody, Version: cfg.Version, Log: cfg.Log}))
		return checked
	})
	s.handler = wire.Pace(wire.Count(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := probes.Handler(r); pattern != "" {
			probe.ServeHTTP(w, r)
			return
		}
		routes().ServeHTTP(w, r)
	}), cfg.Registerer, cfg.Log), cfg.Registerer, cfg.Log)
	return s
}

// bodyLimit says how large the body of a request may be.
func bodyLimit(maxBody, maxUpload int64) func(method, path string) int64 {
	return func(method, path string) int64 {
		switch {
		case method == http.MethodPost && path == operator.MessagesPath:
			return max(maxUpload, maxBody)
		case strings.HasPrefix(path, hooks.Prefix):
			return hooks.BodyMax
		case files.IsUpload(method, path):
			return workspace.UploadMax
		case openai.Serves(path):
			return max(openai.BodyMax, maxBody)
		case method == http.MethodPost && path == skills.Path:
			return max(skills.BodyMax, maxBody)
		case strings.HasPrefix(path, settings.Path):
			return max(settings.BodyMax, maxBody)
		case senders.BodyMax(path) > 0:
			return senders.BodyMax(path)
		}
		return maxBody
	}
}

// Handler is everything that the server serves.
func (s *Server) Handler() http.Handler { return s.handler }

// Notifications are the triggers of clients that want to be notified of the ends of their tasks.
func (s *Server) Notifications() trigger.Source { return s.tasks }

// Configure puts other tokens, proxies and names into effect.
func (s *Server) Configure(ctx context.Context, access Access) {
	s.hosts.Store(&access.Hosts)
	s.tokens.Configure(ctx, access.Tokens, access.Proxy)
}
