package agent_test

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/announce"
	"sluice/internal/agent"
	"sluice/internal/agent/roster"
	"sluice/internal/agent/tools/alerting"
	"sluice/internal/agent/tools/schedule"
	"sluice/internal/sandbox"
	"sluice/internal/skill"
	"sluice/internal/spending"
	"sluice/internal/spending/standing"
	"sluice/internal/workspace"
	"sluice/policy"
	"sluice/policy/condition"
	"sluice/policy/flow"
	"sluice/router/exchange"
	"sluice/router/ledger"
	"sluice/router/outbound"
	runs "sluice/router/work"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// store is the memory store with what the tools read besides.
type store struct {
	*sessiontest.Memory
	records  []sessions.Record
	archived []sessions.Record
	waiting  []sessions.Run
	exchange ledger.Exchange
	listed   []ledger.Exchange
	todos    []sessions.Todo
	broken   error
	// byKey is asked what a read of a session by its key gives; nil: what is stored.
	byKey func(context.Context, sessions.Record) (sessions.Record, error)

	memoryStore // real, where a test needs one
}

var _ agent.Store = (*store)(nil)

func (s *store) SessionByKey(ctx context.Context, key sessions.Key) (sessions.Record, error) {
	for _, r := range s.records {
		if r.Key == key {
			if s.byKey != nil {
				return s.byKey(ctx, r)
			}
			return r, s.broken
		}
	}
	return sessions.Record{}, sessions.ErrNotFound
}

func (s *store) ArchivedSession(_ context.Context, key sessions.Key) (sessions.Record, error) {
	for _, r := range s.archived {
		if r.Key == key {
			return r, s.broken
		}
	}
	return sessions.Record{}, sessions.ErrNotFound
}

func (s *store) ListSessions(_ context.Context, q ledger.SessionQuery) ([]sessions.Record, error) {
	var found []sessions.Record
	from := 1 + slices.IndexFunc(s.records, func(r sessions.Record) bool { return r.ID == q.After })
	for _, r := range s.records[from:] {
		wanted := len(q.Kinds) == 0 || slices.Contains(q.Kinds, r.Key.Kind(sessions.Keyer{}))
		if wanted && r.Taint.FlowsTo(q.MaxLevel) && !r.LastActivity.Before(q.ActiveSince) && len(found) < q.Limit {
			found = append(found, r)
		}
	}
	return found, s.broken
}

func (s *store) Exchange(context.Context, string) (ledger.Exchange, error) {
	return s.exchange, s.broken
}

func (s *store) ListExchanges(_ context.Context, q ledger.ExchangeQuery) ([]ledger.Exchange, error) {
	var found []ledger.Exchange
	for _, x := range s.listed {
		if flow.CanFlow(x.Label.Level(), q.MaxLevel) && (q.Requester == "" || x.Requester.Session == q.Requester) && (q.Target == "" || x.Target.Session == q.Target) && (!q.Open || x.Phase != announce.Ended) {
			found = append(found, x)
		}
	}
	return found, s.broken
}

func (s *store) Todos(_ context.Context, session sessions.ID) ([]sessions.Todo, error) {
	return slices.DeleteFunc(slices.Clone(s.todos), func(t sessions.Todo) bool { return t.Session != session }), nil
}

func (s *store) ChangeTodos(_ context.Context, c sessions.TodoChange) error {
	for _, t := range c.Add {
		if !slices.ContainsFunc(s.todos, func(o sessions.Todo) bool { return o.ID == t.ID }) {
			s.todos = append(s.todos, t)
		}
	}
	for _, t := range c.Update {
		s.todos[slices.IndexFunc(s.todos, func(o sessions.Todo) bool { return o.ID == t.ID })] = t
	}
	s.todos = slices.DeleteFunc(s.todos, func(t sessions.Todo) bool { return slices.Contains(c.Remove, t.ID) })
	return s.broken
}

func (s *store) WaitingRuns(context.Context, sessions.ID, int) ([]sessions.Run, error) {
	return s.waiting, s.broken
}

// bundle is an agent loop with a session to work in.
type bundle struct {
	*agent.Loop
	roster  *roster.Roster
	store   *store
	model   *sessiontest.Scripted
	sent    []outbound.Proactive
	asked   []exchange.Ask
	runs    map[sessions.RunID]sessions.Run // what is waited for
	waited  []time.Duration                 // how long
	begun   time.Duration                   // how long ago exchanges were started
	refuse  error                           // what a send gives
	session *sessions.Session
	run     sessions.Run
	events  []sessions.Event
	sandbox *testSandbox
	inbox   runs.Inbox
	remote  []sessions.Tool // of servers outside
	pages   pages           // of the web
	skills  *skill.Keeper

	registry *prometheus.Registry
	spent    spent
	bounds   workspace.Bounds // of its sessions' files

	approver runs.Approver
}

// testSandbox is the real one, until something is said to be missing.
type testSandbox struct {
	*sandbox.Bubblewrap
	missing error
	before  func() // called before each command of a skill
}

func (s *testSandbox) Available(ctx context.Context) error {
	if s.before != nil {
		s.before()
	}
	if s.missing != nil {
		return s.missing
	}
	return s.Bubblewrap.Available(ctx)
}

// lenient is a monitor without rules, which lets sessions rise.
func lenient() *policy.Monitor { return monitorOf(policy.EscalationAuto) }

// monitorOf is one of an installation in which every place carries what is PUBLIC.
func monitorOf(e policy.Escalation, rules ...policy.Rule) *policy.Monitor {
	set, err := condition.NewRules(rules)
	if err != nil {
		panic(err)
	}
	m, err := policy.NewMonitor(policy.MonitorConfig{
		Rules: set, Escalation: e, SinkLevel: func(sessions.Route) flow.Level { return flow.Public }, Now: func() time.Time { return start },
	})
	if err != nil {
		panic(err)
	}
	return m
}

// start is the time at which a bundle's world begins.
var start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // as in testing/synctest

func newBundle(t *testing.T, answers ...sessiontest.Answer) *bundle {
	t.Helper()
	b := &bundle{
		store: &store{Memory: sessiontest.NewMemory()},
		model: &sessiontest.Scripted{Answers: answers, Level: flow.Restricted},

		sandbox: &testSandbox{Bubblewrap: sandbox.New("", time.Now)}, registry: prometheus.NewRegistry(),
	}
	b.roster = roster.New(roster.Settings{Monitor: lenient(), Agents: []roster.Definition{{ID: "main", Model: "test/scripted"}}, Keyer: sessions.Keyer{}})
	b.skills = &skill.Keeper{Pins: &skillPins{}, Settings: func() skill.Settings { return b.roster.Settings().Skills }, Now: time.Now}
	var err error
	b.Loop, err = agent.New(agent.Config{
		Roster: b.roster, Store: b.store, Memories: b.store, Todos: b.store, Now: time.Now, Log: slog.New(slog.DiscardHandler), Registerer: b.registry,
		Models: func(name string) (sessions.Model, error) {
			if name != "test/scripted" {
				return nil, errors.New("no such model")
			}
			return b.model, nil
		},
		Archived: b.store.ArchivedSession,
		CheckPolicy: func(_ context.Context, c outbound.Check) (policy.Decision, error) {
			if c.To == "forbidden" {
				return policy.Decision{Action: policy.Block, Reason: "sendPolicy.rules[0] says no"}, nil
			}
			return policy.Decision{Action: policy.Allow}, nil
		},
		Target: func(name string) (outbound.Proactive, bool) {
			p, ok := map[string]outbound.Proactive{"owner": {Channel: "slack", To: outbound.ToOwner}, "ops": {Channel: "slack", Account: "work", To: "C1", Thread: "7"}}[name]
			return p, ok
		},
		Jobs: noJobs{}, Alerts: noAlerts{}, Exchanges: exchanges{b}, Sandbox: b.sandbox, Remote: func() []sessions.Tool { return b.remote }, Pages: &b.pages, Skills: b.skills,
		Spending: &standing.Reader{Ledger: &b.spent, Budgets: func() []*spending.Budget { return b.spent.budgets }, Now: time.Now},
		Files:    &workspace.Opener{Quota: workspace.NewQuota(func() workspace.Bounds { return b.bounds }, nil, time.Now)},
		Send: func(_ context.Context, p outbound.Proactive) (ledger.Delivery, error) {
			b.sent = append(b.sent, p)
			d := ledger.Delivery{ID: "dlv_1", Route: sessions.Route{Channel: p.Channel, Conversation: sessions.ConversationID(p.To)}}
			if p.To == "forbidden" {
				d.Decision = &policy.Decision{Action: policy.Block, Reason: "sendPolicy.rules[0] says no"}
			}
			return d, b.refuse
		},
	})
	require.NoError(t, err)
	record := b.record("agent:main:main", flow.Bottom())
	b.session, err = b.Open(t.Context(), record)
	require.NoError(t, err)
	b.run = sessions.Run{
		ID: sessions.NewRunID(), Session: record.ID, Input: sessions.Input{Owner: true},
		Route: sessions.Route{Channel: "telegram", Account: "default", ChatType: sessions.Direct, Conversation: "42"},
	}
	return b
}

// noJobs is for tests that make no jobs.
type noJobs struct{ schedule.Jobs }

// noAlerts is for tests that report no alerts.
type noAlerts struct{ alerting.Alerts }

// exchanges is the router as far as the session tools need it.
type exchanges struct{ *bundle }

func (e exchanges) StartExchange(_ context.Context, a exchange.Ask) (ledger.Exchange, error) {
	if e.refuse != nil {
		return ledger.Exchange{}, e.refuse
	}
	e.asked = append(e.asked, a)
	x := ledger.Exchange{First: "run_asked", Run: "run_asked"}
	x.ID, x.Started, x.Target = "xch_1", time.Now().Add(-e.begun), announce.Party{Session: a.Target.ID, Key: a.Target.Key, Agent: a.Target.Agent}
	return x, nil
}

func (e exchanges) WaitRun(_ context.Context, id sessions.RunID, d time.Duration) (sessions.Run, error) {
	e.waited = append(e.waited, d)
	run := e.runs[id]
	run.ID = id
	return run, nil
}

func (exchanges) NewAgentSession(agent string) sessions.Record {
	return sessions.Record{ID: sessions.NewID(), Key: sessions.Keyer{}.Main(agent), Agent: agent, Taint: flow.Bottom()}
}

// record stores a session.
func (b *bundle) record(key sessions.Key, taint flow.Label) sessions.Record {
	return b.stored(sessions.Record{ID: sessions.NewID(), Key: key, Agent: cmp.Or(key.Agent(), "main"), Taint: taint, LastActivity: start})
}

func (b *bundle) stored(r sessions.Record) sessions.Record {
	if !r.Clearance.Valid() {
		r.Clearance = flow.Restricted
	}
	if err := b.store.CommitSession(context.Background(), sessions.Change{Create: []sessions.Record{r}}); err != nil {
		panic(err)
	}
	b.store.records = append(b.store.records, r)
	return r
}

// as goes on in another session.
func (b *bundle) as(t *testing.T, r sessions.Record, owner bool) {
	t.Helper()
	var err error
	b.session, err = b.Open(t.Context(), r)
	require.NoError(t, err)
	b.run.ID, b.run.Session, b.run.Input.Owner = sessions.NewRunID(), r.ID, owner
}

// configure changes the settings: of two agents, main and other.
func (b *bundle) configure(change func(*roster.Settings)) {
	s := roster.Settings{Monitor: lenient(), Agents: []roster.Definition{{ID: "main", Model: "test/scripted", Name: "Main"}, {ID: "other", Model: "test/scripted", Name: "Other"}}}
	change(&s)
	b.roster.Configure(s)
}

// ask works one message to its answer.
func (b *bundle) ask(ctx context.Context, text string) (runs.Answer, error) {
	b.session.Append(sessions.Message{Role: sessions.RoleUser, Run: b.run.ID, Parts: []sessions.Part{sessions.TextPart(text, flow.Bottom())}})
	if err := b.session.Persist(ctx); err != nil {
		return runs.Answer{}, err
	}
	return b.work(ctx)
}

func (b *bundle) work(ctx context.Context) (runs.Answer, error) {
	answer, err := b.Work(ctx, &runs.Assignment{
		Session: b.session, Run: &b.run, Emit: func(e sessions.Event) { b.events = append(b.events, e) }, Inbox: b.inbox, Approver: b.approver,
	})
	if err != nil {
		return runs.Answer{}, err
	}
	return *answer, nil
}

// reopen loads the session as a new process would.
func (b *bundle) reopen(t *testing.T) {
	t.Helper()
	record, err := b.store.Session(t.Context(), b.run.Session)
	require.NoError(t, err)
	b.session, err = b.Open(t.Context(), record)
	require.NoError(t, err)
}

// tool calls a tool through the loop and gives its result.
func (b *bundle) tool(t *testing.T, name, args string) sessions.Part {
	t.Helper()
	b.model.Answers = []sessiontest.Answer{sessiontest.Calls(name, args, "call_1"), sessiontest.Says("ok")}
	_, err := b.ask(t.Context(), "use "+name)
	require.NoError(t, err)
	messages := b.session.Messages()
	return messages[len(messages)-2].Parts[0]
}

func (b *bundle) kinds() []sessions.EventType {
	var kinds []sessions.EventType
	for _, e := range b.events {
		kinds = append(kinds, e.Type)
	}
	return kinds
}

// fails is a completion that fails.
func fails(kind sessions.ModelErrorKind, after time.Duration) sessiontest.Answer {
	return func(context.Context, sessions.Request, func(sessions.Chunk)) (sessions.Completion, error) {
		return sessions.Completion{}, &sessions.ModelError{Kind: kind, Model: "test/scripted", RetryAfter: after, Err: errors.New("no")}
	}
}
