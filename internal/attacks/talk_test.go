package attacks_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/policy/flow"
	"sluice/router"
	"sluice/router/inbound"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/sqlite/sqlitetest"
)

const (
	talkPrograms = 4
	talkSteps    = 40
	talkRestart  = 20
)

// The conversations of a talk. The one that asks and the narrow one never ask for anything above PUBLIC; the one that
// is asked may, and is looked at as long as it has not.
const (
	askingKey = groupKey
	askedKey  = topKey
)

// puppet is a model that calls the tools that it is told to, and then says what they gave; else that it has noted what it was shown, in a few
// characters that are others if anything of it is.
type puppet struct{}

var _ sessions.Model = puppet{}

func (puppet) Name() string               { return "m/m" }
func (puppet) ContextWindow() int         { return 0 }
func (puppet) Classification() flow.Level { return flow.Restricted }

func (puppet) Complete(_ context.Context, q sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error) {
	c := sessions.Completion{Usage: sessions.Usage{InputTokens: 1, OutputTokens: 1}} // so few that no program reaches the magnitude that /usage tells next: a known channel
	last := q.Messages[len(q.Messages)-1]
	if last.Role != sessions.RoleToolResult && len(q.Tools) > 0 {
		for i, call := range orders(last.Text()).Calls {
			id := fmt.Sprint("call_", i)
			on(sessions.Chunk{Type: sessions.PartToolCall, CallID: id, Tool: call.Name})
			c.Parts = append(c.Parts, sessions.Part{Type: sessions.PartToolCall, CallID: id, Tool: call.Name, Args: json.RawMessage(call.Args)})
		}
	}
	if len(c.Parts) == 0 {
		text := answerOf(q, last)
		on(sessions.Chunk{Type: sessions.PartText, Text: text})
		c.Parts = []sessions.Part{{Type: sessions.PartText, Text: text}}
	}
	return c, nil
}

func answerOf(q sessions.Request, last sessions.Message) string {
	if last.Role != sessions.RoleToolResult {
		shown := sha256.Sum256([]byte(timeless(named(map[string]string{}, q.System+"\n"+last.Text()))))
		return "noted " + hex.EncodeToString(shown[:3])
	}
	var results []string
	for _, p := range last.Parts {
		results = append(results, p.Text)
	}
	return strings.ReplaceAll(strings.Join(results, "\n"), "!call", "called")
}

// lasted is how long a task took: the clock moves with each look at it, and who works beside it looks too.
var lasted = regexp.MustCompile(`runtime \w+`)

// timeless is a text without times.
func timeless(text string) string {
	return lasted.ReplaceAllString(timeLike.ReplaceAllString(text, "<time>"), "runtime <time>")
}

// nearBus is a bus within a process, on which one router owns everything.
type nearBus struct {
	mu        sync.Mutex
	owner     router.Owner
	followers map[sessions.ID][]chan sessions.Event
}

var _ router.Bus = (*nearBus)(nil)

func (b *nearBus) own(t testing.TB, owner router.Owner) {
	t.Helper()
	b.owner, b.followers = owner, map[sessions.ID][]chan sessions.Event{}
	for p := range twoRunPartitions {
		epoch, err := owner.Epoch(context.Background(), p)
		require.NoError(t, err)
		require.NoError(t, owner.Acquire(context.Background(), p, epoch))
	}
}

func (b *nearBus) ReadSteps(int) {}

func (b *nearBus) PublishStep(partition int, _ string, text []byte) {
	b.owner.Stepped(partition, text, func() {})
}

func (b *nearBus) Wake(partition int, lane sessions.Lane) { b.owner.Woken(partition, lane) }
func (*nearBus) Fenced(int)                               {}

func (b *nearBus) Emit(e sessions.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.followers[e.Session] {
		select {
		case f <- e:
		default: // its reader has gone
		}
	}
}

func (b *nearBus) Follow(_ context.Context, id sessions.ID, _ uint64) (<-chan sessions.Event, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := make(chan sessions.Event, 200)
	b.followers[id] = append(b.followers[id], f)
	return f, nil
}

// screen is a platform that keeps what each conversation is shown.
type screen struct {
	mu    sync.Mutex
	texts map[sessions.ConversationID][]string
}

var _ adapters.Adapter = (*screen)(nil)

func (*screen) Channel() string { return "telegram" }
func (*screen) Account() string { return "default" }

func (*screen) Run(ctx context.Context, _ adapters.Acceptor) error {
	<-ctx.Done()
	return nil
}

func (s *screen) Send(_ context.Context, out adapters.Outbound) (adapters.Receipt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	to := out.Route.Conversation
	s.texts[to] = append(s.texts[to], out.Text)
	return adapters.Receipt{MessageID: sessions.PlatformMessageID(fmt.Sprint(len(s.texts[to])))}, nil
}

// take gives what a conversation was shown since it was last asked, in an order of its own: what is sent at once may come as it likes.
func (s *screen) take(of sessions.ConversationID) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	texts := s.texts[of]
	s.texts[of] = nil
	for i := range texts {
		texts[i] = timeless(anID.ReplaceAllString(texts[i], "<id>"))
	}
	slices.Sort(texts)
	return texts
}

// workplace is a gateway that works: sessions talk to each other and to people.
type workplace struct {
	*twoRun
	near  *nearBus
	shown *screen
	ticks atomic.Int64
	watch *watch
}

// newWorkplace makes one that is not open yet.
func newWorkplace(t testing.TB, model sessions.Model) *workplace {
	t.Helper()
	w := &workplace{near: &nearBus{}, shown: &screen{texts: map[sessions.ConversationID][]string{}}}
	begun := time.Date(2026, 3, 1, 1, 0, 0, 0, time.UTC)
	w.twoRun = &twoRun{
		TB: t, dir: sqlitetest.Dir(t), bus: w.near, chat: w.shown, model: model, names: map[string]string{},
		clock: func() time.Time { return begun.Add(time.Duration(w.ticks.Add(1)) * time.Second) }, // in whole seconds, so that times are of one length
	}
	return w
}

func (w *workplace) start() {
	w.Helper()
	w.open()
	w.near.own(w, w.router.Owner())
	w.router.Start()
	w.watch = newWatch(w, w.dir)
}

func (w *workplace) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	w.watch.close(w)
	w.router.Stop(ctx)
	require.NoError(w, w.db.Close())
}

// talk is a workplace that a program of one of two runs is about.
type talk struct {
	*workplace
	lows, high *rand.Rand
	noted      map[sessions.ID]int // messages of a thread
}

func newTalk(t testing.TB, low, high uint64) *talk {
	t.Helper()
	w := &talk{workplace: newWorkplace(t, puppet{}), noted: map[sessions.ID]int{}, lows: rand.New(rand.NewPCG(low, 3)), high: rand.New(rand.NewPCG(high, 4))}
	w.secret, w.remote = fmt.Sprint("secret ", high), w.board.tools
	w.board.write(w.secret)
	w.start()
	t.Cleanup(w.stop)
	for key, clearance := range map[sessions.Key]flow.Level{askingKey: flow.Restricted, askedKey: flow.Restricted, narrowKey: flow.Public, highKey: flow.Restricted} {
		w.begin(key, clearance)
	}
	return w
}

// placeOfKey is where the people of a session speak.
func placeOfKey(key sessions.Key) sessions.Route {
	_, id, _ := strings.Cut(string(key), "group:")
	return sessions.Route{Channel: "telegram", Account: "default", ChatType: sessions.Group, Conversation: sessions.ConversationID(id)}
}

func (w *workplace) begin(key sessions.Key, clearance flow.Level) {
	w.Helper()
	// The id is made of the key, so that of equals the same comes first in both runs.
	name := sha256.Sum256([]byte(key))
	id := sessions.ID("sess_" + hex.EncodeToString(name[:6]))
	at := w.clock()
	require.NoError(w, w.db.CommitSession(w.Context(), sessions.Change{Create: []sessions.Record{{
		ID: id, Key: key, Agent: key.Agent(), Partition: sessions.SessionLane(id).Partition(twoRunPartitions), Taint: flow.Bottom(), Clearance: clearance,
		Route: placeOfKey(key), Persistent: true, Created: at, LastActivity: at,
	}}}))
}

// say lets the owner say something in a session's conversation, and waits for all that comes of it.
func (w *workplace) say(key sessions.Key, lines ...string) {
	w.Helper()
	w.called += len(lines)
	w.admit(key, adapters.Inbound{Sender: sessions.Peer{ID: "1", Name: "Ada"}, Text: strings.Join(lines, "\n")})
	until(w, time.Millisecond, "runs and deliveries to end", w.idle)
}

// admit takes in what somebody says in a session's conversation.
func (w *workplace) admit(key sessions.Key, in adapters.Inbound) {
	w.Helper()
	record, err := w.db.SessionByKey(w.Context(), key)
	require.NoError(w, err)
	in.Event, in.Route, in.Mentioned, in.SentAt = fmt.Sprint("event/", w.ticks.Load()), placeOfKey(key), true, w.clock()
	_, err = w.router.Intake.Admit(w.Context(), inbound.Admission{Session: record.ID, Inbound: in})
	require.NoError(w, err)
}

// idle reports whether no run waits or works and nothing is on its way out.
func (w *workplace) idle() bool {
	w.Helper()
	return w.watch.idle(w)
}

// silent reports whether nothing is on its way out.
func (w *workplace) silent() bool {
	for _, status := range []ledger.DeliveryStatus{ledger.DeliveryQueued, ledger.DeliverySending, ledger.DeliveryQueued} {
		out, err := w.db.ListDeliveries(w.Context(), ledger.Query{MaxLevel: flow.Restricted, Status: string(status), Limit: 1})
		require.NoError(w, err)
		if len(out) > 0 {
			return false
		}
	}
	return true
}

// observe notes what low sessions and their people have been told.
func (w *talk) observe() {
	w.Helper()
	for _, key := range []sessions.Key{askingKey, narrowKey, askedKey} {
		record, err := w.db.SessionByKey(w.Context(), key)
		require.NoError(w, err)
		w.low(fmt.Sprintf("%s is at %s", key, record.Taint))
		if key == askedKey && record.Taint.Level() != flow.Public {
			continue
		}
		thread, err := w.db.Thread(w.Context(), record)
		require.NoError(w, err)
		for _, m := range thread[min(w.noted[record.ID], len(thread)):] {
			for _, p := range m.Parts {
				w.low(timeless(fmt.Sprintf("%s %s: %s %s %s%s", key, m.Role, p.Label, p.Tool, p.Args, p.Text)))
			}
		}
		w.noted[record.ID] = len(thread)
	}
	for _, key := range []sessions.Key{askingKey, narrowKey, askedKey} {
		for _, text := range w.shown.take(placeOfKey(key).Conversation) {
			w.low(fmt.Sprintf("shown to %s: %s", key, text))
		}
	}
}

// plain are calls that bring in nothing above their session, and start nothing that works beside it.
func plain(r *rand.Rand) string {
	for {
		switch tool, a := anyCall(r); tool {
		case "sessions_spawn", "sessions_send", "message", "session_status":
		case "sessions_list":
			return `!call sessions_list {"kinds":["main","group"],"messageLimit":3}` // sub-agents have ids of chance
		default:
			return "!call " + tool + " " + a
		}
	}
}

// asks is a request to another session.
func asks(to sessions.Key, message string) string {
	return call("sessions_send", args{"sessionKey": to, "message": message, "timeoutSeconds": 600})
}

const readsBoard = `!call mcp_board_read {}`

// lowStep is what low sessions do.
func (w *talk) lowStep() {
	w.Helper()
	r := w.lows
	switch r.IntN(12) {
	case 0, 1:
		w.say(askingKey, asks(askedKey, readsBoard))
	case 2:
		w.say(askingKey, asks(askedKey, plain(r)))
	case 3:
		w.say(askingKey, asks(askedKey, "hello"), plain(r))
	case 4:
		w.say(askingKey, asks([]sessions.Key{highKey, narrowKey, "agent:main:nobody"}[r.IntN(3)], plain(r)))
	case 5:
		w.say(askedKey, asks([]sessions.Key{askingKey, narrowKey}[r.IntN(2)], "hello"))
	case 6:
		w.say(askedKey, plain(r), plain(r))
	case 7:
		w.say(askedKey, readsBoard)
	case 8:
		w.say(askedKey, "/new")
	case 9:
		w.say(askingKey, call("sessions_spawn", args{"task": []string{"hello", plain(r)}[r.IntN(2)]}))
	case 10:
		w.say(narrowKey, readsBoard, plain(r))
	default:
		w.say(askingKey, plain(r), call("session_status", args{"sessionKey": []sessions.Key{askedKey, highKey}[r.IntN(2)]}))
	}
}

// highStep is what the session that knows does, and what others write on the board.
func (w *talk) highStep() {
	w.Helper()
	r := w.high
	low := []sessions.Key{askingKey, askedKey, narrowKey}[r.IntN(3)]
	switch r.IntN(8) {
	case 0:
		w.board.write(fmt.Sprint(w.secret, " ", r.IntN(3)))
	case 1:
		w.say(highKey, call("sessions_send", args{"sessionKey": low, "message": w.secret, "timeoutSeconds": 0}))
	case 2:
		w.say(highKey, call("message", args{"to": placeOfKey(low).Conversation, "message": w.secret}))
	case 3:
		w.say(highKey, call("sessions_spawn", args{"task": call("sessions_send", args{"sessionKey": low, "message": w.secret})}))
	case 4:
		w.say(highKey, plain(r), readsBoard)
	case 5:
		w.say(highKey, plain(r), plain(r), plain(r))
	}
}

// step lets high sessions work and then low ones.
func (w *talk) step(n int) {
	w.Helper()
	for range w.high.IntN(3) {
		w.highStep()
	}
	if n%talkRestart == talkRestart-1 {
		w.stop()
		w.start()
	}
	w.lowStep()
	w.observe()
}

// talkDifference lets two gateways go through a program, and gives the first thing that low sessions and their people were told
// otherwise. It may be empty.
func talkDifference(t testing.TB, seed uint64, planted func(*twoRun)) (found string, calls int) {
	t.Helper()
	one, other := newTalk(t, seed, 2*seed+100), newTalk(t, seed, 2*seed+101)
	return compare(seed, talkSteps, planted, one, other)
}

// What agents say to each other, what their sub-agents report and what people are shown is the same for low sessions, whatever
// high ones do, and whatever those have learnt with whom they talk.
func TestTwoRunTalk(t *testing.T) {
	t.Parallel()
	total := programs(t, talkPrograms, talkDifference)
	t.Logf("%d orders in %d programs of two runs each", total, talkPrograms)
	keep(t, "talk.json", twoRunRow{Calls: total, Programs: talkPrograms})
}
