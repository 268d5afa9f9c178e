package httpapi_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/adapters"
	"sluice/internal/httpapi"
	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/conversation"
	"sluice/internal/httpapi/files"
	"sluice/internal/httpapi/openai"
	"sluice/internal/httpapi/operator"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/why"
	"sluice/internal/workspace"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/approvals"
	"sluice/router/decider"
	"sluice/router/disclose"
	"sluice/router/exchange"
	"sluice/router/inbound"
	"sluice/router/jobs"
	"sluice/router/ledger"
	"sluice/router/manage"
	"sluice/router/outbound"
	"sluice/router/request"
	"sluice/sessions"
	"sluice/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "a-token-of-the-test"

var clock = time.Unix(1_777_222_996, 70_000_000).UTC()

// gateway is what stands behind the API: its router, store and bus in one. What a
// test does not set is not there; a call of what is not faked panics.
type gateway struct {
	view.Resolver
	conversation.SessionKeeper
	conversation.Turns
	conversation.Work
	conversation.Gate
	conversation.SendPermissions
	operator.Outbox
	operator.DeliveryKeeper
	operator.Directory
	conversation.Tasks
	operator.Approver
	operator.Pairings

	conversation.SessionRows
	conversation.RunRows
	operator.DeliveryRows
	httpapi.MediaRows
	conversation.ExchangeRows
	operator.ApprovalRows
	operator.MemoryRows
	operator.PairingRows
	operator.AuditRows

	mu       sync.Mutex
	records  map[string]sessions.Record // by id and key
	busy     map[sessions.ID]bool
	runs     map[sessions.RunID]sessions.Run
	waits    []time.Duration                 // for the ends of runs
	becomes  map[sessions.RunID]sessions.Run // what runs are once they were looked at
	todos    []sessions.Todo
	thread   []sessions.Message
	children map[sessions.MessageID][]sessions.Message
	sent     []ledger.Delivery

	exchanges []ledger.Exchange
	approvals []ledger.Approval
	verdicts  []decider.Verdict
	shared    string // what is warned of where all direct chats are one session
	pairings  []ledger.Pairing
	memories  *store.DB
	tasks     []exchange.NewTask
	files     map[sessions.MediaID]ledger.Media
	messages  []outbound.Proactive
	counts    map[ledger.DeliveryStatus]int
	asked     []inbound.Admission
	left      []ledger.TriggerWake
	woken     jobs.Woken
	created   []manage.NewSession
	ended     []sessions.ID
	enders    []string // who has ended or reset sessions
	aborted   []sessions.ID
	queries   []ledger.SessionQuery
	admitted  inbound.Admitted
	fail      error // of every call
	refuse    error // of texts for a heartbeat
	after     uint64
	follower  chan context.Context // of those who follow a session
	live      chan sessions.Event
	healthy   bool
	patched   []sessions.Patch
	audit     []sessions.AuditEntry
	commits   int
	down      error // of every commit
}

func newGateway() *gateway {
	return &gateway{records: map[string]sessions.Record{}, busy: map[sessions.ID]bool{}, runs: map[sessions.RunID]sessions.Run{}, live: make(chan sessions.Event, 16), follower: make(chan context.Context, 16), healthy: true}
}

func (g *gateway) add(r sessions.Record) sessions.Record {
	r.Created, r.LastActivity = clock, clock
	r.Taint, r.Clearance = flow.NewLabel(flow.Public, flow.Trusted), flow.Restricted
	if r.FileAccess.Read == nil {
		r.FileAccess = sessions.FileAccess{Read: []string{""}, Write: []string{""}}
	}
	g.records[string(r.ID)], g.records[string(r.Key)] = r, r
	return r
}

func (g *gateway) Disclose(ctx context.Context, run sessions.Run, reader flow.Level) (disclose.Told, error) {
	run.Route = sessions.Route{Channel: "webchat"}
	tell, _ := g.Teller(ctx, run, reader) // it never fails
	return tell(ctx, run.Reply)
}

// Teller withholds what is forbidden, and takes the word out of what says more.
func (g *gateway) Teller(_ context.Context, run sessions.Run, _ flow.Level) (disclose.Teller, error) {
	return func(_ context.Context, text string) (disclose.Told, error) {
		if text == "forbidden" && !run.Route.IsZero() {
			return disclose.Told{Withheld: &disclose.Withheld{
				Delivery: "dlv_9", Decision: policy.Decision{Action: policy.Block, Reason: "no", Rules: []policy.CheckResult{{Rule: "policy.rules.no", Matched: true, Action: policy.Block}}},
			}}, nil
		}
		if sessions.Silent(text) {
			text = ""
		}
		return disclose.Told{Text: strings.ReplaceAll(text, "forbidden", "")}, nil
	}, nil
}

func (g *gateway) SendPermission(_ context.Context, record sessions.Record, _ sessions.Route) (outbound.SendPermission, error) {
	stands := outbound.SendPermission{Carries: flow.Internal}
	if !record.Taint.FlowsTo(stands.Carries) {
		stands.Held = "the text is " + record.Taint.Level().String()
	}
	return stands, g.fail
}

func (g *gateway) SessionOrMain(ctx context.Context, name string) (sessions.Record, error) {
	return g.ResolveSession(ctx, cmp.Or(name, "agent:main:main"))
}

func (g *gateway) ResolveSession(_ context.Context, name string) (sessions.Record, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.fail != nil {
		return sessions.Record{}, g.fail
	}
	if r, ok := g.records[name]; ok && r.Ended.IsZero() {
		return r, nil
	}
	return sessions.Record{}, sessions.ErrNotFound
}

func (g *gateway) ReadableSession(ctx context.Context, name string) (sessions.Record, error) {
	g.mu.Lock()
	r, ok := g.records[name]
	g.mu.Unlock()
	if ok && r.Archived {
		return r, nil
	}
	return g.ResolveSession(ctx, name)
}

func (g *gateway) MainSession(ctx context.Context, name string) (sessions.Record, error) {
	if name != sessions.MainAlias {
		return sessions.Record{}, sessions.ErrNotFound
	}
	return g.ResolveSession(ctx, "agent:main:main")
}

func (g *gateway) CreateSession(_ context.Context, n manage.NewSession) (sessions.Record, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.created = append(g.created, n)
	return g.add(sessions.Record{
		ID: "sess_a86118c06688", Key: "agent:main:http:sess_a86118c06688", Agent: "main",
		Persistent: n.Persistent, TTL: n.TTL, Metadata: n.Metadata, FileAccess: *n.FileAccess, Title: n.Title,
	}), g.fail
}

func (g *gateway) OpenSession(_ context.Context, name string, n manage.NewSession) (sessions.Record, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	key := sessions.Key("agent:" + n.Agent + ":http:" + name)
	if r, ok := g.records[string(key)]; ok {
		return r, nil
	}
	g.created = append(g.created, n)
	return g.add(sessions.Record{ID: sessions.NewID(), Key: key, Agent: n.Agent, Persistent: n.Persistent, TTL: n.TTL}), g.fail
}

func (g *gateway) PatchSession(_ context.Context, p sessions.Patch, _ string) (sessions.Record, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.records[string(p.ID)]
	p.Apply(&r)
	g.patched = append(g.patched, p)
	g.records[string(r.ID)], g.records[string(r.Key)] = r, r
	return r, g.fail
}

func (g *gateway) Learn(_ context.Context, id sessions.ID, label flow.Label, _ string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.down != nil {
		return g.down
	}
	r := g.records[string(id)]
	r.Taint = r.Taint.Join(label)
	g.records[string(id)], g.records[string(r.Key)] = r, r
	return nil
}

func (g *gateway) Session(ctx context.Context, id sessions.ID) (sessions.Record, error) {
	return g.ResolveSession(ctx, string(id))
}

func (g *gateway) ResetSession(_ context.Context, id sessions.ID, actor string) (sessions.Record, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.enders = append(g.enders, actor)
	return g.records[string(id)], nil
}

func (g *gateway) DeleteSession(_ context.Context, id sessions.ID, actor string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.records[string(id)]
	delete(g.records, string(id))
	delete(g.records, string(r.Key))
	g.ended, g.enders = append(g.ended, id), append(g.enders, actor)
	return nil
}

func (g *gateway) AbortSession(_ context.Context, id sessions.ID, actor string) error {
	g.enders = append(g.enders, actor)
	g.aborted = append(g.aborted, id)
	return nil
}

func (g *gateway) DiscardDelivery(_ context.Context, _ ledger.DeliveryID, by decider.Verdict) (ledger.Delivery, error) {
	g.verdicts = append(g.verdicts, by)
	return g.sent[0], nil
}

func (g *gateway) SharedMain() string { return g.shared }

func (g *gateway) ListPairings(context.Context, string, string, ledger.PairingStatus) ([]ledger.Pairing, error) {
	return g.pairings, nil
}

func (g *gateway) ApprovePairing(context.Context, string, string) (ledger.Pairing, error) {
	return ledger.Pairing{}, approvals.ErrPairingCode
}

func (g *gateway) Admit(_ context.Context, in inbound.Admission) (inbound.Admitted, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked = append(g.asked, in)
	return g.admitted, g.fail
}

func (g *gateway) Wake(_ context.Context, agent, actor string, w ledger.TriggerWake) (jobs.Woken, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left, g.enders = append(g.left, w), append(g.enders, agent+" "+actor)
	return g.woken, g.refuse
}

func (g *gateway) WaitRun(ctx context.Context, id sessions.RunID, d time.Duration) (sessions.Run, error) {
	g.mu.Lock()
	g.waits = append(g.waits, d)
	g.mu.Unlock()
	return g.Run(ctx, id)
}

func (g *gateway) Run(_ context.Context, id sessions.RunID) (sessions.Run, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if run, ok := g.runs[id]; ok {
		if next, ok := g.becomes[id]; ok {
			g.runs[id] = next
		}
		return run, nil
	}
	return sessions.Run{}, sessions.ErrNotFound
}

func (g *gateway) Thread(context.Context, sessions.Record) ([]sessions.Message, error) {
	return g.thread, nil
}

func (g *gateway) Message(_ context.Context, _ sessions.ID, id sessions.MessageID) (sessions.Message, error) {
	for _, children := range g.children {
		for _, m := range children {
			if m.ID == id {
				return m, nil
			}
		}
	}
	return sessions.Message{}, sessions.ErrNotFound
}

func (g *gateway) Children(_ context.Context, _ sessions.ID, parent sessions.MessageID) ([]sessions.Message, error) {
	return g.children[parent], nil
}

func (g *gateway) NewestLeaf(_ context.Context, _ sessions.ID, id sessions.MessageID) (sessions.MessageID, error) {
	return id, nil
}

func (g *gateway) Todos(context.Context, sessions.ID) ([]sessions.Todo, error) { return g.todos, nil }

func (g *gateway) ListDeliveries(context.Context, ledger.Query) ([]ledger.Delivery, error) {
	return g.sent, nil
}

func (g *gateway) Send(_ context.Context, p outbound.Proactive) (ledger.Delivery, error) {
	g.messages = append(g.messages, p)
	return ledger.Delivery{ID: "dlv_1", Status: ledger.DeliveryQueued, Text: p.Text, Buttons: p.Buttons}, g.fail
}

func (g *gateway) Media(_ context.Context, id sessions.MediaID) (ledger.Media, error) {
	if m, ok := g.files[id]; ok {
		return m, nil
	}
	return ledger.Media{}, sessions.ErrNotFound
}

func (g *gateway) MediaInfo(ctx context.Context, id sessions.MediaID) (ledger.Media, error) {
	m, err := g.Media(ctx, id)
	m.Content = nil
	return m, err
}

func (g *gateway) Delivery(context.Context, ledger.DeliveryID) (ledger.Delivery, error) {
	return g.sent[0], nil
}

func (g *gateway) CountDeliveries(context.Context, flow.Level) (map[ledger.DeliveryStatus]int, error) {
	return g.counts, g.fail
}

func (g *gateway) ListSessions(_ context.Context, q ledger.SessionQuery) ([]sessions.Record, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queries = append(g.queries, q)
	var all []sessions.Record
	for name, r := range g.records {
		if name == string(r.ID) {
			all = append(all, r)
		}
	}
	return all, g.fail
}

func (g *gateway) Busy(context.Context, []sessions.ID) (map[sessions.ID]bool, error) {
	return g.busy, nil
}

func (g *gateway) Follow(ctx context.Context, _ sessions.ID, after uint64) (<-chan sessions.Event, error) {
	g.after = after
	g.follower <- ctx
	return g.live, nil
}

func (g *gateway) LookUp(_ context.Context, channel, _, to string) (sessions.Route, []sessions.Peer, error) {
	if to != "#ops" {
		return sessions.Route{}, nil, &request.Error{Field: "to", Text: "nobody is called so"}
	}
	return sessions.Route{Channel: channel, Account: "default", ChatType: sessions.Group, Conversation: "C1", Title: "ops", Handle: "secret"},
		[]sessions.Peer{{ID: "U1", Name: "Ada"}}, nil
}

func (g *gateway) CheckPolicy(context.Context, outbound.Check) (policy.Decision, error) {
	panic("a fault inside")
}

func (g *gateway) Simulate(_ context.Context, c operator.Simulated) (policy.Simulation, error) {
	r := c.Session
	return policy.Simulation{Tool: c.Tool, Decision: "BLOCK", Reason: string(r.Key) + " " + string(c.Args), Level: r.Taint.Level(), ResultingLevel: r.Taint.Level(), Rules: []policy.CheckResult{}}, nil
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusAccepted)
}

// useRows has the API read all rows from a database.
func useRows(c *httpapi.Config, db *store.DB) {
	c.Rows = httpapi.Rows{Sessions: db, Tree: db, Runs: db, Deliveries: db, Media: db, Exchanges: db, Approvals: db, Memories: db, Pairings: db, Audit: db, Denials: db, Access: db, Overview: db, Live: db, Why: db, Notes: db, Usage: db}
}

// serve is all that a server before the gateway serves.
func serve(t *testing.T, g *gateway) http.Handler {
	t.Helper()
	return newServer(t, g).Handler()
}

// nobody has signed in, and there are no tokens but the configured ones.
type nobody struct{ httpapi.AccessStore }

func (nobody) TokenNamed(context.Context, string) (ledger.APIToken, error) {
	return ledger.APIToken{}, sessions.ErrNotFound
}

// noRefusals are rows of a gateway that has refused nobody.
type noRefusals struct{ why.Rows }

func (noRefusals) ListRefusals(context.Context, flow.Level, time.Time, int) ([]ledger.Refusal, error) {
	return nil, nil
}

func (nobody) NoteUses(context.Context, []ledger.Use) error { return nil }

// newServer makes a server before the gateway; settings change what it is made of.
func newServer(t *testing.T, g *gateway, settings ...func(*httpapi.Config)) *httpapi.Server {
	t.Helper()
	cfg := httpapi.Config{
		Gateway: httpapi.Gateway{
			Resolver: g, Sessions: g, Turns: g, Work: g, SendPermissions: g, Gate: g, Checker: g, Outbox: g, Directory: g, Deliveries: g, Tasks: g, Approver: g, Pairings: g, Events: g, Simulator: g, Heartbeats: g,
		},
		Rows: httpapi.Rows{
			Sessions: g, Tree: g, Runs: g, Deliveries: g, Media: g, Exchanges: g, Approvals: g, Memories: g, Pairings: g, Audit: g, Denials: g, Access: nobody{}, Why: noRefusals{},
		},
		Published: func() []openai.Agent {
			return []openai.Agent{{ID: "main", Default: true, Published: true}, {ID: "quiet"}, {ID: "research", Published: true}}
		},
		Parts: func(context.Context) []operator.Health {
			return []operator.Health{{Name: "store", OK: g.healthy, Detail: map[bool]string{false: "the disk is full"}[g.healthy]}}
		},
		Accounts: func() []adapters.State { return nil },
		Callback: func(channel, _ string) (http.Handler, bool) { return g, channel == "telegram" },
		Models: conversation.Models{
			Default: func(string) string { return "offline/guide" },
			MaxTemperature: func(name string) float32 {
				if strings.HasPrefix(name, "cool/") {
					return 1
				}
				return sessions.TemperatureMax
			},
			Check: func(name string, _ flow.Level) error {
				if strings.HasPrefix(name, "nobody/") {
					return errors.New("no model " + name)
				}
				return nil
			},
		},
		Files:      files.Source{Opener: new(workspace.Opener), Level: func(r sessions.Record) flow.Level { return r.Taint.Level() }},
		Page:       http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the page") }),
		PageRoute:  sessions.Route{Channel: "webchat", Account: "default", ChatType: sessions.Direct, Conversation: "local"},
		PagePerson: sessions.Peer{ID: "local"},
		Metrics:    http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "metrics") }),
		Access:     httpapi.Access{Tokens: []auth.Credential{{Token: token, Level: flow.Restricted, Role: auth.RoleOwner}}, Hosts: []string{"gateway.example"}},
		SinkLevel:  func(sessions.Route) flow.Level { return flow.Restricted }, MaxBody: 1000, Version: "test",
		Now: func() time.Time { return clock }, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	}
	for _, set := range settings {
		set(&cfg)
	}
	s := httpapi.New(cfg)
	t.Cleanup(func() { require.NoError(t, s.Stop(context.Background())) })
	return s
}

// call makes a request that bears the token; headers are "Name: value".
func call(h http.Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://127.0.0.1:8484"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Set(name, value)
		if value == "" {
			r.Header.Del(name)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
