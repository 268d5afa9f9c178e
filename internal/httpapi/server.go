// Package httpapi is the gateway's HTTP face: the API for programs and the page,
// the platforms' callbacks, and what operators watch.
//
// Who may call: everything but /healthz, /readyz, the platforms' signed
// callbacks and the page's own files wants a token, which has a level and a role:
// its bearer sees and does at most that ([callerOf]). Before that, a request
// must name a host that this gateway answers to and must not come from another
// site, so that no page in somebody's browser can drive a local gateway.
//
// Failure rules: an error is {"error": code, "message": text}; its text never
// shows what is inside. What is missing, foreign or hidden is the same 404.
//
// Goroutines: the server's own and that of its denials, which Stop waits for. Streams end with Stop.
package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/adapters"
	"sluice/internal/workspace"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router"
	"sluice/router/ledger"
	"sluice/sessions"
)

// Router is what the API needs of the router.
type Router interface {
	Admit(ctx context.Context, in router.Admission) (router.Admitted, error)
	ResolveSession(ctx context.Context, keyOrID string) (sessions.Record, error)
	// Told asks the gate about a run's answer.
	Told(ctx context.Context, run sessions.Run, reader flow.Level) (router.Told, error)
	// Teller asks the gate about all that a run has said.
	Teller(ctx context.Context, run sessions.Run, reader flow.Level) (router.Teller, error)
	// Standing says what a session may say in a place.
	Standing(ctx context.Context, record sessions.Record, route sessions.Route) (router.Standing, error)
	SessionOrMain(ctx context.Context, keyOrID string) (sessions.Record, error)
	MainSession(ctx context.Context) (sessions.Record, error)
	CreateSession(ctx context.Context, n router.NewSession) (sessions.Record, error)
	PatchSession(ctx context.Context, p sessions.Patch, actor string) (sessions.Record, error)
	// Learn has a session know that a label reaches it by another way than its runs.
	Learn(ctx context.Context, id sessions.ID, label flow.Label, actor string) error
	ResetSession(ctx context.Context, id sessions.ID, actor string) (sessions.Record, error)
	DeleteSession(ctx context.Context, id sessions.ID, actor string) error
	AbortSession(ctx context.Context, id sessions.ID, actor string) error
	WaitRun(ctx context.Context, id sessions.RunID, d time.Duration) (sessions.Run, error)
	StartTask(ctx context.Context, n router.NewTask) (ledger.Exchange, error)
	Send(ctx context.Context, p router.Proactive) (ledger.Delivery, error)
	LookUp(ctx context.Context, channel, account, to string) (sessions.Route, []sessions.Peer, error)
	CheckPolicy(ctx context.Context, c router.Check) (policy.Decision, error)
	RetryDelivery(ctx context.Context, id ledger.DeliveryID, actor string) (ledger.Delivery, error)
	DiscardDelivery(ctx context.Context, id ledger.DeliveryID, by router.Verdict) (ledger.Delivery, error)
	ApprovePairing(ctx context.Context, code, actor string) (ledger.Pairing, error)
	DenyPairing(ctx context.Context, code, actor string) (ledger.Pairing, error)
	SharedMain() string
	DecideApproval(ctx context.Context, id ledger.ApprovalID, v router.Verdict) (ledger.Approval, error)
	RevokePairing(ctx context.Context, channel, account string, user sessions.UserID, actor string) error
}

// Store is what the API reads besides.
type Store interface {
	ledger.Browser
	// Session reads a session, one that has ended too.
	Session(ctx context.Context, id sessions.ID) (sessions.Record, error)
	Approval(ctx context.Context, id ledger.ApprovalID) (ledger.Approval, error)
	Thread(ctx context.Context, record sessions.Record) ([]sessions.Message, error)
	Run(ctx context.Context, id sessions.RunID) (sessions.Run, error)
	Delivery(ctx context.Context, id ledger.DeliveryID) (ledger.Delivery, error)
	Exchange(ctx context.Context, id string) (ledger.Exchange, error)
	ListExchanges(ctx context.Context, q ledger.ExchangeQuery) ([]ledger.Exchange, error)
	Media(ctx context.Context, id sessions.MediaID) (ledger.Media, error)
	MediaInfo(ctx context.Context, id sessions.MediaID) (ledger.Media, error)
	Memory(ctx context.Context, id sessions.MemoryID, upTo flow.Level) (sessions.Memory, error)
	MemoryVersions(ctx context.Context, m sessions.Memory, limit int) ([]sessions.Memory, error)
	Memories(ctx context.Context, q sessions.MemoryQuery) ([]sessions.Memory, error)
	SearchMemories(ctx context.Context, q sessions.MemorySearch) ([]sessions.Memory, error)
	DeleteMemory(ctx context.Context, d sessions.MemoryDelete) error
	// Commit stores what callers were not told, in the audit trail.
	Commit(ctx context.Context, c ledger.Change) error
	ListPairings(ctx context.Context, channel, account string, status ledger.PairingStatus) ([]ledger.Pairing, error)
}

// Events gives the live events of a session, as [router.Bus] does.
type Events interface {
	Follow(ctx context.Context, id sessions.ID, after uint64) (<-chan sessions.Event, error)
}

// Health is how one part of the gateway does.
type Health struct {
	Name   string `json:"name" doc:"store, bus, <channel>/<account>, or mcp/<server>"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty" doc:"what is wrong, and what to do"`
	// Optional: the gateway is ready without this part.
	Optional bool `json:"optional,omitempty" doc:"the gateway is ready without it"`
	// Kind is what a part of several of its kind is called to who bears no token; empty: its name.
	Kind string `json:"-"`
	// Level is the part's: it is not there for whoever may not see it. Invalid: everybody may.
	Level flow.Level `json:"-"`
}

// Config is what a Server is made of. All fields but Hosts are required.
type Config struct {
	Router    Router
	Store     Store
	Events    Events
	Parts     func(ctx context.Context) []Health
	Accounts  func() []adapters.State
	Callback  func(channel, account string) (http.Handler, bool)
	ModelName func(agent string) string // of an agent whose session overrides none
	// CheckModel gives nil for a model that may be set, else an error that names those that a session may be given that knows what is of a level.
	CheckModel func(name string, knows flow.Level) error
	// Simulate says what a call of a tool by a session would come to, if an owner had it made.
	Simulate   func(ctx context.Context, c Simulated) (policy.Simulation, error)
	Folder     Folder
	Quota      *workspace.Quota                        // bounds what is written there; nil: nothing does
	FileLevel  func(record sessions.Record) flow.Level // of the session's files
	Page       http.Handler
	PageRoute  sessions.Route // where those are who speak over the API and on the page
	PagePerson sessions.Peer  // who they are
	Metrics    http.Handler
	Tokens     []Credential
	SinkLevel  func(route sessions.Route) flow.Level // the highest level that may be said by a route
	Hosts      []string                              // further Host names that requests may carry, without port
	MaxBody    int64                                 // bytes of a request's body
	MaxUpload  int64                                 // bytes of the body of a request that may bring files
	Version    string
	Now        func() time.Time
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

const (
	headerTimeout = 10 * time.Second
	bodyTimeout   = time.Minute
	idleTimeout   = 2 * time.Minute
	headerMost    = 32 << 10
)

// Server is the HTTP server.
type Server struct {
	cfg     Config
	handler http.Handler
	http    *http.Server
	started time.Time

	credentials []hashed
	cursors     cursors
	denials     *denials

	ending  context.Context // ends the streams when the server stops
	end     context.CancelFunc
	serving sync.WaitGroup
}

// New makes a server; it serves nothing before Start.
func New(cfg Config) *Server {
	s := &Server{cfg: cfg, started: cfg.Now(), credentials: hashCredentials(cfg.Tokens), denials: newDenials(cfg)}
	s.cursors = newCursors(s.credentials)
	s.ending, s.end = context.WithCancel(context.Background())
	s.handler = s.routes()
	s.http = &http.Server{
		Handler: s.handler, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: headerMost,
		ErrorLog: slog.NewLogLogger(cfg.Log.Handler(), slog.LevelDebug),
	}
	return s
}

// Handler is all that the server serves.
func (s *Server) Handler() http.Handler { return s.handler }

// Start serves on a listener, which it closes at the end.
func (s *Server) Start(l net.Listener) {
	s.denials.start()
	s.serving.Go(func() {
		if err := s.http.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			s.cfg.Log.Error("http server ended", "err", err)
		}
	})
}

// Stop ends the streams, lets other requests finish within ctx, and waits for the server's end. It is idempotent.
func (s *Server) Stop(ctx context.Context) error {
	s.end()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("stop http server: %w", err), s.http.Close())
	}
	s.serving.Wait()
	s.denials.stop(ctx)
	return err
}
