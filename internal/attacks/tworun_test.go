package attacks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/internal/agent"
	"sluice/internal/agent/roster"
	"sluice/internal/config"
	"sluice/internal/config/alerts"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router"
	"sluice/router/exchange"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/router/queue"
	"sluice/sessions"
	"sluice/store"
	"sluice/store/sqlite"
)

// twoRun is one of two gateways that are compared: a loop, a router and a store, with sessions of several levels. What low
// ones are told is noted, and must be the same in both, whatever high ones do.
type twoRun struct {
	testing.TB
	dir    string
	loop   *agent.Loop
	router *router.Router
	db     *store.DB
	store  *meddled // the loop's way to db
	bus    router.Bus
	chat   adapters.Adapter // nil: there is none
	model  sessions.Model
	clock  func() time.Time
	secret string // is another one in the other run
	board  board
	remote func() []sessions.Tool
	shared bool              // all conversations read what each has saved
	names  map[string]string // of ids, by the order in which low sessions saw them
	seen   []string          // by low sessions
	called int               // by all
}

const twoRunPartitions = 4

// open makes the gateway on what is stored.
func (w *twoRun) open() {
	w.Helper()
	db, err := sqlite.Open(w.Context(), sqlite.Config{Dir: w.dir})
	require.NoError(w, err)
	require.NoError(w, db.FixPartitions(w.Context(), twoRunPartitions))
	w.db = db
	if w.store == nil {
		w.store = &meddled{}
	}
	w.store.DB = db
	gate := policy.NewGate(map[string]policy.Sink{"telegram": {Level: flow.Restricted, Conversations: map[sessions.ConversationID]flow.Level{
		"-1": flow.Public, "-3": flow.Public, "-4": flow.Public, "-6": flow.Public,
	}}}, nil, nil)
	monitor, err := policy.NewMonitor(policy.MonitorConfig{Rules: covertRules(w), SinkLevel: gate.SinkLevel, Escalation: policy.EscalationAuto, Now: w.clock})
	require.NoError(w, err)
	agents := w.newRoster(monitor)
	w.router, err = router.New(router.Config{
		Store: ledger.NewStore(db), Bus: w.bus, Models: agents, Gate: gate, Monitor: monitor, Partitions: twoRunPartitions, Replica: "one", Now: w.clock,
		Adapters: func(string, string) (adapters.Adapter, bool) { return w.chat, w.chat != nil },
		Log:      slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), SweepEvery: time.Hour,
		Settings: &place.Settings{
			Owners: []string{"telegram:1"}, Agent: "main", Channels: map[string]place.ChannelSettings{"telegram": {DMPolicy: place.AccessOpen, GroupPolicy: place.AccessOpen}},
			Queue: queue.Settings{Mode: sessions.QueueFollowup, Cap: 20}, Exchanges: place.ExchangeSettings{MaxTurns: 3, MaxTasks: 4},
			RunTimeout: patience, DeliveryLife: 24 * time.Hour, MaxTextBytes: 4000, MaxRunAttempt: 3,
		},
		Alerts: alertsToOwner().AlertPlan(),
	})
	require.NoError(w, err)
	w.openLoop(agents)
	w.router.SetAgent(w.loop)
	w.router.JobSource().Configure(nil, config.Default())
}

// alertsToOwner has the owner told of all alerts.
func alertsToOwner() *config.Config {
	cfg := config.Default()
	cfg.Alerts.Route.Receiver = "owner"
	cfg.Alerts.Receivers = []alerts.Receiver{{Name: "owner", Targets: []string{"owner"}}}
	return cfg
}

func (w *twoRun) newRoster(monitor *policy.Monitor) *roster.Roster {
	shared := roster.MemorySettings{Namespace: "main", Shared: w.shared, MaxEntries: 6, Recall: 4000} // so few, that they are soon full
	return roster.New(roster.Settings{
		Agents:  []roster.Definition{{ID: "main", Model: "m/m", Memory: shared, AllowAgents: []string{"other"}}, {ID: "other", Model: "m/m", Memory: shared}},
		Monitor: monitor, Visibility: roster.VisibleAll, AgentToAgent: roster.AgentToAgent{Enabled: true}, Owners: []string{"telegram:1"},
	})
}

func (w *twoRun) openLoop(agents *roster.Roster) {
	w.Helper()
	loop, err := agent.New(agent.Config{
		Roster: agents,
		Store:  w.store, Memories: w.store, Todos: w.store, Models: func(string) (sessions.Model, error) { return w.model, nil }, Now: w.clock, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
		Send: w.router.Sender.Send, CheckPolicy: w.router.Sender.CheckPolicy, Jobs: w.router.Jobs,
		Alerts: w.router.Alerts(), Exchanges: w, Remote: w.remote,
	})
	require.NoError(w, err)
	w.loop = loop
}

// The loop's exchanges are those of the router.

func (w *twoRun) StartExchange(ctx context.Context, a exchange.Ask) (ledger.Exchange, error) {
	return w.router.Exchanges().Start(ctx, a)
}

func (w *twoRun) WaitRun(ctx context.Context, id sessions.RunID, d time.Duration) (sessions.Run, error) {
	if w.chat == nil {
		d = 0 // nobody works here
	}
	return w.router.Sessions().WaitRun(ctx, id, d)
}

func (w *twoRun) NewAgentSession(agent string) sessions.Record {
	return w.router.Places().NewAgentSession(agent)
}

var anID = regexp.MustCompile(`(sess|run|dlv|xch|chn|mem|msg|todo|apr)_[0-9a-f]{12,}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// low notes what a low session is told; ids are named in the order in which they are seen.
func (w *twoRun) low(text string) { w.seen = append(w.seen, named(w.names, text)) }

// named gives ids the names of their order.
func named(names map[string]string, text string) string {
	return anID.ReplaceAllStringFunc(text, func(id string) string {
		if names[id] == "" {
			names[id] = fmt.Sprintf("<id %d>", len(names))
		}
		return names[id]
	})
}

// script is what is done in one of two runs, step by step.
type script interface {
	step(n int)
	gateway() *twoRun
}

func (w *twoRun) gateway() *twoRun { return w }

// compare makes the steps of a program in both runs until low sessions are told something different in them, and says what; empty: that
// never is.
func compare(seed uint64, steps int, planted func(*twoRun), runs ...script) (found string, calls int) {
	one, other := runs[0].gateway(), runs[1].gateway()
	planted(one)
	planted(other)
	for n := range steps {
		from := len(one.seen)
		stepBoth(n, runs[0], runs[1])
		for i := from; i < max(len(one.seen), len(other.seen)); i++ {
			if a, b := seenAt(one, i), seenAt(other, i); a != b {
				return fmt.Sprintf("program %d, step %d: %q, and in the other run %q", seed, n, a, b), 0
			}
		}
	}
	return "", one.called + other.called
}

// stepBoth lets both runs go a step beside each other: each has its own gateway and its own clock.
func stepBoth(n int, one, other script) {
	t := one.gateway()
	t.Helper()
	var both sync.WaitGroup
	both.Go(func() { one.step(n) })
	both.Go(func() { other.step(n) })
	both.Wait()
	if t.Failed() { // a failed check ends only its goroutine
		t.FailNow()
	}
}

// programs compares the two runs of n programs, each in a parallel test of its own, and gives how many calls they made.
func programs(t *testing.T, n int, difference func(t testing.TB, seed uint64, planted func(*twoRun)) (found string, calls int)) int {
	t.Helper()
	var total atomic.Int64
	t.Run("programs", func(t *testing.T) {
		for seed := range uint64(n) {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				found, calls := difference(t, seed, soundly)
				require.Empty(t, found)
				total.Add(int64(calls))
			})
		}
	})
	return int(total.Load())
}

func seenAt(w *twoRun, i int) string {
	if i < len(w.seen) {
		return w.seen[i]
	}
	return "nothing"
}

// meddled is a store in which something happens between a look at a session and one at its messages, or which has lost
// the levels of what it is asked for.
type meddled struct {
	*store.DB
	between  func()
	leveling bool // the levels are lost
}

func (m *meddled) Thread(ctx context.Context, record sessions.Record) ([]sessions.Message, error) {
	if between := m.between; between != nil {
		m.between = nil
		between()
	}
	return m.DB.Thread(ctx, record)
}

func (m *meddled) scope(s sessions.MemoryScope) sessions.MemoryScope {
	if m.leveling {
		s.MaxLevel = flow.Restricted
	}
	return s
}

func (m *meddled) MemoriesByKey(ctx context.Context, q sessions.MemoryKeyed) ([]sessions.Memory, error) {
	q.MemoryScope = m.scope(q.MemoryScope)
	return m.DB.MemoriesByKey(ctx, q)
}

func (m *meddled) Memories(ctx context.Context, q sessions.MemoryQuery) ([]sessions.Memory, error) {
	q.MemoryScope = m.scope(q.MemoryScope)
	return m.DB.Memories(ctx, q)
}

func (m *meddled) SearchMemories(ctx context.Context, q sessions.MemorySearch) ([]sessions.Memory, error) {
	q.MemoryScope = m.scope(q.MemoryScope)
	return m.DB.SearchMemories(ctx, q)
}

// board is an MCP server that sessions of all levels share. What it gives is as secret as what was written there, though its
// tools are declared to bring in what is PUBLIC.
type board struct {
	mu   sync.Mutex
	text string
}

func (b *board) write(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = text
}

func (b *board) tools() []sessions.Tool {
	read := func(context.Context, sessions.Caller, json.RawMessage) (sessions.ToolResult, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		return sessions.ToolResult{Text: "on the board: " + b.text, Label: flow.NewLabel(flow.Confidential, flow.Trusted)}, nil
	}
	return []sessions.Tool{{
		Spec: sessions.ToolSpec{Name: "mcp_board_read", Description: "Reads the board.", Parameters: json.RawMessage(`{"type":"object"}`)},
		Flow: sessions.ToolFlow{Reads: sessions.FlowOutside, Writes: sessions.FlowNone, Source: flow.Bottom()}, Idempotent: true,
		Run: read, Remote: &sessions.RemoteTool{Server: "board", Name: "read"},
	}}
}
