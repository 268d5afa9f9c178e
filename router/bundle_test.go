package router_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/adapters"
	"sluice/internal/alert"
	"sluice/internal/bus"
	"sluice/policy"
	"sluice/policy/condition"
	"sluice/policy/flow"
	"sluice/router"
	"sluice/router/checks"
	"sluice/router/inbound"
	"sluice/router/job"
	"sluice/router/ledger"
	"sluice/router/manage"
	"sluice/router/nodes"
	"sluice/router/place"
	"sluice/router/queue"
	"sluice/router/quota"
	"sluice/router/work"
	"sluice/sessions"
	"sluice/store"
	"sluice/store/sqlite"
	"sluice/store/sqlite/sqlitetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const partitions = 4

// bundle is a router on a real database, with a bus, a platform and an agent that tests control.
type bundle struct {
	*router.Router
	*manage.Sessions
	*manage.Deliveries
	t        testing.TB
	store    *store.DB
	dying    *dying   // what the router has of it instead, in a test of deaths
	away     *away    // the same, in a test of outages
	failing  *failing // the same, in a test of single failures
	bus      *localBus
	embedded bool     // steps travel on an embedded NATS
	nats     *bus.Bus // nil without embedded
	chat     *chat
	adapter  adapters.Adapter // chat, or what a test puts around it
	agent    *scriptedAgent
	gate     *testGate
	rules    []policy.Rule // of the monitor
	settings *place.Settings
	dir      string
	log      *slog.Logger
	now      func() time.Time
	commands int // that tell has given
	registry *prometheus.Registry
	grace    time.Duration // for work when it stops
	disk     quota.Disk
	jobs     []job.Job
	reader   job.Reader
	alerts   *alert.Plan
	nodes    *nodes.Registry
	watched  *watched       // what the check "n" counts; nil: there are no checks
	checks   *checks.Checks // nil without watched
	// instructions are those of heartbeats; nil for no heartbeats.
	instructions func(agent string) (string, error)

	carries func(sessions.Route) flow.Level // what may be said by a route, for the monitor; nil: everything
}

func newBundle(t testing.TB, options ...func(*bundle)) *bundle {
	t.Helper()
	b := &bundle{
		t: t, dir: sqlitetest.Dir(t), now: time.Now, log: slog.New(slog.DiscardHandler), chat: newChat(), gate: &testGate{},
		agent: &scriptedAgent{answer: echo},
		settings: &place.Settings{
			Owners: []string{"test:owner"}, Agent: "main",
			Channels: map[string]place.ChannelSettings{"test": {
				DMPolicy: place.AccessOpen, GroupPolicy: place.AccessOpen,
				Groups: map[string]place.GroupSettings{"*": {RequireMention: true}},
			}},
			Queue:      queue.Settings{Mode: sessions.QueueFollowup, Cap: 20},
			Retention:  place.Retention{Media: 7 * 24 * time.Hour},
			RunTimeout: time.Minute, DeliveryLife: 24 * time.Hour, MaxTextBytes: 1000, HistoryKeep: 50, MaxRunAttempt: 3,
			Keyer: sessions.Keyer{Scope: sessions.ScopePerPeer},
		},
	}
	b.adapter = b.chat
	for _, o := range options {
		o(b)
	}
	b.open()
	b.start()
	t.Cleanup(func() {
		b.stop()
		require.NoError(t, b.store.Close())
	})
	return b
}

func (b *bundle) open() {
	var err error
	b.store, err = sqlite.Open(context.Background(), sqlite.Config{Dir: b.dir, Log: slog.New(slog.DiscardHandler)})
	require.NoError(b.t, err)
	b.agent.store = b.store
	if b.away != nil {
		b.away.DB = b.store
		b.agent.store = b.away
	}
	if b.failing != nil {
		b.failing.DB = b.store
	}
	if b.dying != nil {
		b.dying.DB = b.store
		b.agent.store = b.dying
	}
}

// start makes a router on the store, as a new process would.
func (b *bundle) start() {
	b.t.Helper()
	b.bus, b.registry = &localBus{}, prometheus.NewRegistry()
	b.nodes = nodes.New(b.store, b.now, true)
	var err error
	if b.embedded {
		b.nats, err = bus.Start(context.Background(), bus.Config{
			Dir: b.dir, Partitions: partitions, Replica: "test", Now: b.now, Log: b.log, Registerer: prometheus.NewRegistry(),
		})
		require.NoError(b.t, err)
		b.bus.nats = b.nats
	}
	b.Router, err = router.New(router.Config{
		Store: b.routerStore(), Bus: b.bus, Models: b.agent, Gate: b.gate, Monitor: b.monitor(), Settings: b.settings,
		Adapters:   b.adapterOf,
		Partitions: partitions, Replica: "test", Now: b.now, Log: b.log,
		Registerer: b.registry, Grace: cmp.Or(b.grace, 10*time.Millisecond), SweepEvery: time.Hour, Disk: b.disk, Jobs: b.jobs, Alerts: b.alerts, JobReader: b.reader, Limits: b.store, Refusals: b.store, Spending: b.store, Nodes: b.nodes,
	})
	require.NoError(b.t, err)
	b.Sessions, b.Deliveries = b.Router.Sessions(), b.Router.Deliveries()
	b.Router.SetAgent(b.agent)
	b.JobSource().Instructions = b.instructions
	if b.watched != nil {
		b.checks = b.watched.begin(b)
		b.JobSource().Checks = b.checks
	}
	b.Router.Start()
	b.bus.own(b.t, b.Router.Owner())
	if b.embedded {
		require.NoError(b.t, b.nats.Own(context.Background(), steppedOnly{b.Router.Owner()}))
	}
}

// steppedOnly is an owner that gets only steps from a bus; the rest comes from another one.
type steppedOnly struct{ router.Owner }

func (steppedOnly) Epoch(context.Context, int) (int64, error) { return 0, nil }

func (steppedOnly) Acquire(context.Context, int, int64) error { return nil }
func (steppedOnly) Release(context.Context, int)              {}
func (steppedOnly) Woken(int, sessions.Lane)                  {}
func (steppedOnly) Rescan(int)                                {}

func (b *bundle) routerStore() *ledger.Store {
	if b.dying != nil {
		return ledger.NewStore(b.dying)
	}
	if b.away != nil {
		return ledger.NewStore(b.away)
	}
	if b.failing != nil {
		return ledger.NewStore(b.failing)
	}
	return ledger.NewStore(b.store)
}

// adapterOf gives the one adapter for all channels that there are.
func (b *bundle) adapterOf(channel, _ string) (adapters.Adapter, bool) {
	_, ok := b.settings.Channels[channel]
	return b.adapter, ok
}

func (b *bundle) stop() {
	if b.checks != nil {
		b.checks.Stop()
	}
	b.Router.Stop(context.Background())
	if b.nats != nil {
		b.nats.Stop(context.Background())
	}
}

// rest lets time pass without a router: a running one looks for work every hour, which takes most of a test's time if days pass.
func (b *bundle) rest(d time.Duration) {
	b.stop()
	time.Sleep(d)
	b.start()
}

// restart stops the router in an orderly way and starts another one.
func (b *bundle) restart() {
	b.stop()
	b.start()
}

// in is a message of a person in a direct chat.
func in(who, id, text string) adapters.Inbound {
	return adapters.Inbound{
		Event:  "chat-" + who + "/" + id,
		Route:  sessions.Route{Channel: "test", Account: "default", ChatType: sessions.Direct, Conversation: sessions.ConversationID("chat-" + who), ReplyTo: sessions.PlatformMessageID(id)},
		Sender: sessions.Peer{ID: sessions.UserID(who), Name: who}, Text: text, Mentioned: true,
		MessageID: sessions.PlatformMessageID(id), SentAt: time.Now(),
	}
}

// inGroup is a message of a person in a group.
func inGroup(group, who, id, text string, mentioned bool) adapters.Inbound {
	m := in(who, id, text)
	m.Event = group + "/" + id
	m.Route.ChatType, m.Route.Conversation, m.Mentioned = sessions.Group, sessions.ConversationID(group), mentioned
	return m
}

// hear gives the router a message and says what happened to it.
func (b *bundle) hear(m adapters.Inbound) inbound.Admitted {
	b.t.Helper()
	got, err := b.Intake.Admit(context.Background(), inbound.Admission{Inbound: m})
	require.NoError(b.t, err)
	return got
}

// deliveries are those with a status, oldest first.
func (b *bundle) deliveries(status ledger.DeliveryStatus) []ledger.Delivery {
	b.t.Helper()
	found, err := b.store.ListDeliveries(context.Background(), ledger.Query{MaxLevel: flow.Restricted, Status: string(status), Limit: 200})
	require.NoError(b.t, err)
	slices.Reverse(found)
	return found
}

// counted is the value of a counter where a label has a value.
func (b *bundle) counted(name, value string) int {
	b.t.Helper()
	families, err := b.registry.Gather()
	require.NoError(b.t, err)
	sum := 0.0
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == name && l.GetValue() == value {
					sum += m.GetCounter().GetValue()
				}
			}
		}
	}
	return int(sum)
}

// ended waits until a run has ended.
func (b *bundle) ended(id sessions.RunID) sessions.Run {
	b.t.Helper()
	run, err := b.WaitRun(context.Background(), id, time.Hour)
	require.NoError(b.t, err)
	require.True(b.t, run.Status.Terminal(), "run is %s", run.Status)
	return run
}

// said is one message that the platform has shown.
type said struct {
	To    sessions.ConversationID
	Text  string
	ID    sessions.PlatformMessageID
	Reply sessions.PlatformMessageID
	At    time.Time
}

// chat is a platform in memory. fail decides what a call gives; nil: it works.
type chat struct {
	mu     sync.Mutex
	said   []said
	edits  int
	typing int
	fail   func(out adapters.Outbound, n int) error // n counts the calls from 0
	calls  int
	shown  chan struct{} // gets one for each message shown; large enough for a test
	piece  int           // length of a piece; 0: no splitting

	thread func(sessions.Route) ([]adapters.ThreadMessage, error) // nil: threads are empty
}

var (
	_ adapters.Adapter  = (*chat)(nil)
	_ adapters.Splitter = (*chat)(nil)
)

func newChat() *chat { return &chat{shown: make(chan struct{}, 10_000)} }

func (*chat) Channel() string { return "test" }
func (*chat) Account() string { return "default" }

func (*chat) Run(ctx context.Context, _ adapters.Acceptor) error {
	<-ctx.Done()
	return nil
}

func (c *chat) Send(_ context.Context, out adapters.Outbound) (adapters.Receipt, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.calls
	c.calls++
	if c.fail != nil {
		if err := c.fail(out, n); err != nil {
			return adapters.Receipt{}, err
		}
	}
	return adapters.Receipt{MessageID: c.show(out), At: time.Now()}, nil
}

// fails decides which calls fail, also while the gateway sends on its own.
func (c *chat) fails(fail func(out adapters.Outbound, call int) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = fail
}

// show puts a message on the screen; the caller holds the lock.
func (c *chat) show(out adapters.Outbound) sessions.PlatformMessageID {
	id := sessions.PlatformMessageID(fmt.Sprint(len(c.said) + 1))
	c.said = append(c.said, said{To: out.Route.Conversation, Text: out.Text, ID: id, Reply: out.Route.ReplyTo, At: time.Now()})
	c.shown <- struct{}{}
	return id
}

func (c *chat) Split(text string) []string {
	if c.piece == 0 || len(text) <= c.piece {
		return []string{text}
	}
	var pieces []string
	for chunk := range slices.Chunk([]byte(text), c.piece) {
		pieces = append(pieces, string(chunk))
	}
	return pieces
}

// texts are what a conversation has seen, in order.
func (c *chat) texts(to string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var texts []string
	for _, s := range c.said {
		if to == "" || s.To == sessions.ConversationID("chat-"+to) || s.To == sessions.ConversationID(to) {
			texts = append(texts, s.Text)
		}
	}
	return texts
}

// await waits until n more messages were shown, and until nothing goes on.
func (b *bundle) await(n int) {
	b.t.Helper()
	for range n {
		select {
		case <-b.chat.shown:
		case <-time.After(time.Hour): // in a test's own time
			b.t.Fatal("nothing was shown")
		}
	}
	synctest.Wait() // an answer may be shown before the worker of its session has finished
}

// editable is a chat that can edit and shows typing.
type editable struct{ *chat }

func (c editable) Edit(_ context.Context, id sessions.PlatformMessageID, out adapters.Outbound) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.edits++
	for i := range c.said {
		if c.said[i].ID == id {
			c.said[i].Text = out.Text
			return nil
		}
	}
	return &adapters.Failure{Kind: adapters.Permanent, Certain: true, Err: errors.New("message to edit not found")}
}

func (c editable) PreviewEvery() time.Duration { return time.Second }

func (c editable) Typing(context.Context, sessions.Route) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.typing++
	return nil
}

// scriptedAgent answers with a function.
type scriptedAgent struct {
	decided []sessions.Confirmation // that it has got last
	store   sessions.Store
	broken  error    // of Open
	failed  []string // keys and models that have failed
	begin   func(s *sessions.Session)
	mu      sync.Mutex
	inbox   work.Inbox // of the run that works; for tests with one
	// approver is that of this run too.
	approver work.Approver
	// work takes the place of answer where it is set.
	work   func(ctx context.Context, s *sessions.Session, run *sessions.Run) (string, error)
	answer func(ctx context.Context, text string, emit func(sessions.Event)) (string, error)
}

func echo(_ context.Context, text string, _ func(sessions.Event)) (string, error) {
	return "echo: " + text, nil
}

// answers sets the answer of an agent that may work at the same moment.
func (a *scriptedAgent) answers(answer func(ctx context.Context, text string, emit func(sessions.Event)) (string, error)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answer = answer
}

func (*scriptedAgent) ModelName(agent string) string {
	if agent != "main" {
		return ""
	}
	return "test/model"
}

func (*scriptedAgent) CheckModel(name string, _ flow.Level) error {
	if name = strings.TrimSuffix(name, ", auto"); name != "test/other" && name != "test/more" {
		return fmt.Errorf("no model %s may be chosen: want one of test/other, test/more", name)
	}
	return nil
}

func (a *scriptedAgent) ClearModels(_ context.Context, provider string) (cleared []string, err error) {
	kept := []string{}
	for _, f := range a.failed {
		if provider == "" || strings.HasPrefix(f, provider+"/") {
			cleared = append(cleared, f)
		} else {
			kept = append(kept, f)
		}
	}
	a.failed = kept
	return cleared, nil
}

func (a *scriptedAgent) Open(ctx context.Context, record sessions.Record) (*sessions.Session, error) {
	if a.broken != nil {
		return nil, a.broken
	}
	return sessions.LoadSession(ctx, a.store, record, time.Now)
}

func (a *scriptedAgent) Work(ctx context.Context, task *work.Assignment) (*work.Answer, error) {
	s, run, emit := task.Session, task.Run, task.Emit
	a.mu.Lock() // runs of several sessions work at once
	a.inbox, a.approver = task.Inbox, task.Approver
	a.mu.Unlock()
	if a.begin != nil {
		a.begin(s)
	}
	var pending []string
	for _, m := range slices.Backward(s.Messages()) {
		if m.Role != sessions.RoleUser {
			break
		}
		pending = append(pending, m.Text())
	}
	slices.Reverse(pending)
	text := ""
	for i, p := range pending {
		if i > 0 {
			text += " | "
		}
		text += p
	}
	emit(sessions.Event{Type: sessions.EventStarted})
	a.mu.Lock()
	reply := a.answer
	a.mu.Unlock()
	var answer string
	var err error
	if a.work != nil {
		answer, err = a.work(ctx, s, run)
	} else {
		answer, err = reply(ctx, text, emit)
	}
	if err != nil {
		return nil, err
	}
	s.Append(sessions.Message{Role: sessions.RoleAssistant, Run: run.ID, Parts: []sessions.Part{sessions.TextPart(answer, s.Taint())}})
	return &work.Answer{Text: answer, Model: "test/model", Usage: sessions.Usage{OutputTokens: 1}}, nil
}

// monitor is one whose places carry everything, with no rules, where a test says nothing else.
func (b *bundle) monitor() *policy.Monitor {
	carries := b.carries
	if carries == nil {
		carries = func(sessions.Route) flow.Level { return flow.Restricted }
	}
	rules, err := condition.NewRules(b.rules)
	require.NoError(b.t, err)
	m, err := policy.NewMonitor(policy.MonitorConfig{Rules: rules, Escalation: policy.EscalationAsk, SinkLevel: carries, Now: b.now})
	require.NoError(b.t, err)
	return m
}

// testGate allows everything but what tests forbid.
type testGate struct {
	mu     sync.Mutex
	forbid func(e policy.Egress) *policy.Decision
	level  flow.Level
	sinks  func(sessions.Route) flow.Level // nil: level everywhere
}

func (g *testGate) Decide(e policy.Egress) policy.Decision {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.forbid != nil {
		if d := g.forbid(e); d != nil {
			return *d
		}
	}
	if e.Override == sessions.SendDeny && e.Kind != policy.KindNotice && e.Kind != policy.KindCommand {
		return policy.Decision{Action: policy.Block, Reason: "override", Rules: []policy.CheckResult{{Rule: "override", Matched: true, Action: policy.Block}}}
	}
	return policy.Decision{Action: policy.Allow, Rules: []policy.CheckResult{{Rule: "sendPolicy.default", Matched: true, Action: policy.Allow}}}
}

func (g *testGate) Carries(e policy.Egress) flow.Level { return g.SinkLevel(e.Route) }

func (g *testGate) SinkLevel(route sessions.Route) flow.Level {
	g.mu.Lock()
	sinks := g.sinks
	g.mu.Unlock()
	if sinks != nil {
		return sinks(route)
	}
	if g.level.Valid() {
		return g.level
	}
	return flow.Public
}

// localBus is the bus of one process.
type localBus struct {
	fenced    atomic.Bool // it was told that a partition has moved
	mu        sync.Mutex
	owner     router.Owner
	nats      *bus.Bus // carries the steps; nil: they arrive at once
	followers map[sessions.ID][]chan sessions.Event
	events    []sessions.Event
}

var _ router.Bus = (*localBus)(nil)

func (l *localBus) own(t testing.TB, owner router.Owner) {
	t.Helper()
	l.owner = owner
	for p := range partitions {
		acquire(t, owner, p)
	}
}

// acquire makes an owner take a partition.
func acquire(t testing.TB, owner router.Owner, p int) {
	t.Helper()
	require.NoError(t, acquired(owner, p))
}

func acquired(owner router.Owner, p int) error {
	epoch, err := owner.Epoch(context.Background(), p)
	if err != nil {
		return err
	}
	return owner.Acquire(context.Background(), p, epoch)
}

func (l *localBus) ReadSteps(partition int) {
	if l.nats != nil {
		l.nats.ReadSteps(partition)
	}
}

func (l *localBus) PublishStep(partition int, id string, text []byte) {
	if l.nats != nil {
		l.nats.PublishStep(partition, id, text)
		return
	}
	if l.owner.Owns(partition) {
		l.owner.Stepped(partition, text, func() {})
	}
}

func (l *localBus) Wake(partition int, lane sessions.Lane) { l.owner.Woken(partition, lane) }
func (l *localBus) Fenced(int)                             { l.fenced.Store(true) }

func (l *localBus) Emit(e sessions.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
	for _, f := range l.followers[e.Session] {
		select {
		case f <- e:
		default:
		}
	}
}

func (l *localBus) Follow(ctx context.Context, id sessions.ID, _ uint64) (<-chan sessions.Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.followers == nil {
		l.followers = map[sessions.ID][]chan sessions.Event{}
	}
	f := make(chan sessions.Event, 1000)
	l.followers[id] = append(l.followers[id], f)
	return f, ctx.Err()
}

// seen are the types of the events of a run, in order.
func (l *localBus) seen(run sessions.RunID) []sessions.EventType {
	l.mu.Lock()
	defer l.mu.Unlock()
	var types []sessions.EventType
	for _, e := range l.events {
		if e.Run == run {
			types = append(types, e.Type)
		}
	}
	return types
}
