package attacks_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/internal/agent"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
	"sluice/store"
	"sluice/store/sqlite"
)

const (
	twoRunPrograms = 8
	// twoRunSteps is how many calls low sessions make in each of the two runs of a program; high ones make about as many.
	twoRunSteps = 330
)

// silence is a bus that carries nothing.
type silence struct{}

func (silence) Wake(int, sessions.Lane) {}
func (silence) Emit(sessions.Event)     {}
func (silence) Follow(context.Context, sessions.ID, uint64) (<-chan sessions.Event, error) {
	return make(chan sessions.Event), nil
}

// twoRun is a gateway's loop, router and store, in which sessions of several levels call tools.
type twoRun struct {
	*testing.T
	loop    *agent.Loop
	db      *store.DB
	model   *sessiontest.Scripted
	now     time.Time
	ticking bool // a low session is at work
	open    map[sessions.Key]*sessions.Session
	names   map[string]string // of ids, by the order in which low sessions saw them
	seen    []string          // by low sessions
	called  int               // by all
}

const (
	lowKey   = sessions.Key("agent:main:main")
	otherKey = sessions.Key("agent:other:main")
	groupKey = sessions.Key("agent:main:telegram:group:-1")
	highKey  = sessions.Key("agent:main:telegram:group:-2")
	topKey   = sessions.Key("agent:other:telegram:group:-3")
)

func newTwoRun(t *testing.T) *twoRun {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Config{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	w := &twoRun{
		T: t, db: db, model: &sessiontest.Scripted{Level: flow.Restricted}, now: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
		open: map[sessions.Key]*sessions.Session{}, names: map[string]string{},
	}
	require.NoError(t, db.FixPartitions(t.Context(), 4))
	gate := policy.NewGate(map[string]policy.Sink{"telegram": {Level: flow.Restricted}}, nil, nil)
	clock := func() time.Time {
		if w.ticking { // so that no two things of low sessions are of one time
			w.now = w.now.Add(time.Millisecond)
		}
		return w.now
	}
	monitor, err := policy.NewMonitor(policy.MonitorConfig{SinkLevel: gate.SinkLevel, Escalation: policy.EscalationAuto, Now: clock})
	require.NoError(t, err)
	var r *router.Router
	shared := agent.MemorySettings{Namespace: "main", MaxEntries: 6, Recall: 4000} // so few, that they are soon full
	w.loop, err = agent.New(agent.Config{
		Settings: agent.Settings{
			Agents:  []agent.Definition{{ID: "main", Model: "m/m", Memory: shared}, {ID: "other", Model: "m/m", Memory: shared}},
			Monitor: monitor, Visibility: agent.VisibleAll, AgentToAgent: agent.AgentToAgent{Enabled: true}, Owners: []string{"telegram:1"},
		},
		Store: db, Models: func(string) (sessions.Model, error) { return w.model, nil }, Now: clock, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
		Send: func(ctx context.Context, p router.Proactive) (router.Delivery, error) { return r.Send(ctx, p) },
		CheckPolicy: func(ctx context.Context, c router.Check) (policy.Decision, error) {
			return r.CheckPolicy(ctx, c)
		},
		Exchanges: lazily{&r},
	})
	require.NoError(t, err)
	r, err = router.New(router.Config{
		Store: db, Bus: silence{}, Agent: w.loop, Gate: gate, Monitor: monitor, Partitions: 4, Replica: "one", Now: clock,
		Adapters: func(string, string) (adapters.Adapter, bool) { return nil, false }, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
		Settings: &router.Settings{
			Owners: []string{"telegram:1"}, Agent: "main", Channels: map[string]router.ChannelSettings{"telegram": {DMPolicy: router.AccessOpen, GroupPolicy: router.AccessOpen}},
			Queue: router.QueueSettings{Mode: sessions.QueueFollowup, Cap: 20}, DeliveryLife: time.Hour, MaxTextBytes: 1000,
		},
	})
	require.NoError(t, err)
	for _, key := range []sessions.Key{lowKey, otherKey, groupKey} {
		w.now = w.now.Add(time.Second)
		w.begin(key, flow.Public)
	}
	w.begin(highKey, flow.Confidential)
	w.begin(topKey, flow.Restricted)
	return w
}

// lazily is a router that is made after the loop.
type lazily struct{ r **router.Router }

func (l lazily) StartExchange(ctx context.Context, a router.Ask) (router.Exchange, error) {
	return (*l.r).StartExchange(ctx, a)
}

func (l lazily) WaitRun(ctx context.Context, id sessions.RunID, _ time.Duration) (sessions.Run, error) {
	return (*l.r).WaitRun(ctx, id, 0) // nobody works here
}

func (l lazily) NewSubAgent(parent sessions.Record, agent, model, name string, label flow.Label) sessions.Record {
	return (*l.r).NewSubAgent(parent, agent, model, name, label)
}

func (l lazily) NewAgentSession(agent string) sessions.Record { return (*l.r).NewAgentSession(agent) }

func (w *twoRun) begin(key sessions.Key, level flow.Level) {
	w.Helper()
	record := sessions.Record{
		ID: sessions.NewID(), Key: key, Agent: key.Agent(), Taint: flow.NewLabel(level, flow.Trusted), Clearance: flow.Restricted, Created: w.now, LastActivity: w.now,
		Route: sessions.Route{Channel: "telegram", Account: "default", ChatType: sessions.Direct, Conversation: "1"},
	}
	require.NoError(w, w.db.CommitSession(w.Context(), sessions.Change{Create: []sessions.Record{record}}))
	s, err := w.loop.Open(w.Context(), record)
	require.NoError(w, err)
	w.open[key] = s
}

// call has a session call a tool, and gives what it is told.
func (w *twoRun) call(key sessions.Key, tool, args string) string {
	w.Helper()
	w.called++
	s := w.open[key]
	run := sessions.Run{
		ID: sessions.NewRunID(), Session: s.Record().ID, Kind: sessions.KindMessage, Route: s.Record().Route,
		Input: sessions.Input{Text: "go", Owner: true, Sender: sessions.Peer{ID: "1"}},
	}
	w.model.Answers = []sessiontest.Answer{sessiontest.Calls(tool, args, fmt.Sprint("call_", w.called)), sessiontest.Says("done"), sessiontest.Says("done")}
	s.Append(sessions.Message{Role: sessions.RoleUser, Run: run.ID, Parts: []sessions.Part{sessions.TextPart("go", flow.Bottom())}})
	require.NoError(w, s.Persist(w.Context()))
	_, err := w.loop.Work(w.Context(), router.Assignment{Session: s, Run: &run, Emit: func(sessions.Event) {}})
	require.NoError(w, err)
	messages := s.Messages()
	part := messages[len(messages)-2].Parts[0]
	return fmt.Sprintf("%s %s %s: error %t, label %s, taint %s: %s", key, tool, args, part.Error, part.Label, s.Taint(), part.Text)
}

var anID = regexp.MustCompile(`(sess|run|dlv|xch|chn|mem|msg|todo)_[0-9a-f]{12,}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// low notes what a low session is told; ids are named in the order in which they are seen.
func (w *twoRun) low(text string) {
	w.seen = append(w.seen, anID.ReplaceAllStringFunc(text, func(id string) string {
		if w.names[id] == "" {
			w.names[id] = fmt.Sprintf("<id %d>", len(w.names))
		}
		return w.names[id]
	}))
}

// anyCall draws a call. The words and keys are few, so that sessions meet.
func anyCall(r *rand.Rand) (tool, args string) {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	word := func() string {
		return pick("launch", "friday", "price", "launches", "secret plan", "it's-a:key", "none")
	}
	key := func() string {
		return pick(string(lowKey), string(otherKey), string(groupKey), string(highKey), string(topKey), "main", "agent:main:nobody", "agent:other:main")
	}
	tag := pick("project", "rule", "x")
	return [...]func() (string, string){
		func() (string, string) {
			return "memory_save", fmt.Sprintf(`{"key":%q,"content":%q,"tags":[%q]}`, word(), word()+" "+word(), tag)
		},
		func() (string, string) { return "memory_get", fmt.Sprintf(`{"key":%q}`, word()) },
		func() (string, string) {
			return "memory_search", fmt.Sprintf(`{"query":%q,"max_results":%d}`, word(), 1+r.IntN(4))
		},
		func() (string, string) {
			return "memory_list", pick(`{}`, fmt.Sprintf(`{"tag":%q}`, tag), `{"limit":2}`)
		},
		func() (string, string) {
			return "memory_delete", fmt.Sprintf(`{"key":%q,"uncover":%t}`, word(), r.IntN(2) == 0)
		},
		func() (string, string) {
			return "sessions_list", pick(`{}`, `{"limit":2}`, `{"messageLimit":2}`, `{"activeMinutes":1}`)
		},
		func() (string, string) { return "sessions_history", fmt.Sprintf(`{"sessionKey":%q,"limit":2}`, key()) },
		func() (string, string) { return "session_status", fmt.Sprintf(`{"sessionKey":%q}`, key()) },
		func() (string, string) {
			return "sessions_send", fmt.Sprintf(`{"sessionKey":%q,"message":%q,"timeoutSeconds":%d}`, key(), word(), r.IntN(2))
		},
		func() (string, string) {
			return "sessions_spawn", fmt.Sprintf(`{"task":%q,"label":%q}`, word(), word())
		},
		func() (string, string) {
			return "message", fmt.Sprintf(`{"message":%q,"to":%q}`, word(), pick("1", "-2", "owner"))
		},
		func() (string, string) { return "todo_add", fmt.Sprintf(`{"items":[%q]}`, word()) },
		func() (string, string) { return "todo_list", `{}` },
		func() (string, string) {
			return "simulate_tool_call", fmt.Sprintf(`{"tool_name":"sessions_send","args":{"sessionKey":%q,"message":"x"}}`, key())
		},
		func() (string, string) { return "summarize", `{}` },
		func() (string, string) { return "agents_list", `{}` },
	}[r.IntN(16)]()
}

// program lets low sessions make the calls of one seed, and high ones between them those of another.
func (w *twoRun) program(low, high uint64) {
	w.Helper()
	lows, highs := rand.New(rand.NewPCG(low, 1)), rand.New(rand.NewPCG(high, 2))
	for range twoRunSteps {
		for range highs.IntN(3) {
			tool, args := anyCall(highs)
			w.call([]sessions.Key{highKey, topKey}[highs.IntN(2)], tool, args)
		}
		w.now, w.ticking = w.now.Add(time.Second), true
		tool, args := anyCall(lows)
		w.low(w.call([]sessions.Key{lowKey, otherKey, groupKey}[lows.IntN(3)], tool, args))
		w.ticking = false
	}
}

// What high sessions do, and how often, changes nothing that low ones are told: texts, errors, orders, counts and cursors are
// the same, byte for byte. Over all programs more than ten thousand calls are made.
func TestTwoRunNoninterference(t *testing.T) {
	t.Parallel()
	total := 0
	for seed := range uint64(twoRunPrograms) {
		one, other := newTwoRun(t), newTwoRun(t)
		one.program(seed, 2*seed+100)
		other.program(seed, 2*seed+101)
		for i := range one.seen {
			require.Equal(t, one.seen[i], other.seen[i], "program %d, call %d", seed, i)
		}
		total += one.called + other.called
	}
	require.Greater(t, total, 10_000)
	t.Logf("%d calls in %d programs of two runs each", total, twoRunPrograms)
}
