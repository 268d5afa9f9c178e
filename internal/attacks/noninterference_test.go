package attacks_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/work"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
	"sluice/store/sqlite/sqlitetest"
)

const (
	twoRunPrograms = 8
	// twoRunSteps is how many calls low sessions make in each of the two runs of a program; high ones make about as many.
	twoRunSteps = 360
	// twoRunRestart is after how many of them the gateway ends and comes again.
	twoRunRestart = 120
)

// silence is a bus that carries nothing.
type silence struct{}

func (silence) Wake(int, sessions.Lane)         {}
func (silence) Fenced(int)                      {}
func (silence) PublishStep(int, string, []byte) {}
func (silence) ReadSteps(int)                   {}
func (silence) Emit(sessions.Event)             {}
func (silence) Follow(context.Context, sessions.ID, uint64) (<-chan sessions.Event, error) {
	return make(chan sessions.Event), nil
}

const (
	lowKey   = sessions.Key("agent:main:main")
	otherKey = sessions.Key("agent:other:main")
	groupKey = sessions.Key("agent:main:telegram:group:-1")
	highKey  = sessions.Key("agent:main:telegram:group:-2")
	topKey   = sessions.Key("agent:other:telegram:group:-3")
	// narrowKey may learn only what is PUBLIC, and asks a server that gives more.
	narrowKey = sessions.Key("agent:main:telegram:group:-4")
	// causedKey and nodeKey are of sessions without people.
	causedKey = sessions.Key("hook:build")
	nodeKey   = sessions.Key("node-kitchen")
	// risingKey rises while it is looked at.
	risingKey = sessions.Key("agent:main:telegram:group:-5")
)

// lowKeys are those of low sessions, and someKeys those of high sessions that are there or not.
var (
	lowKeys  = []sessions.Key{lowKey, otherKey, groupKey, narrowKey, causedKey, nodeKey}
	someKeys = []sessions.Key{"agent:main:telegram:group:-7", "agent:main:telegram:group:-8", "agent:other:telegram:direct:1", "hook:secret", "node-vault"}
)

// called is a gateway whose sessions call one tool after the other. Nobody works there but they.
type called struct {
	*twoRun
	script     *sessiontest.Scripted
	now        time.Time
	ticking    bool // a low session is at work
	open       map[sessions.Key]*sessions.Session
	made       map[string][]string // the ids of jobs, by who has made them
	lows, high *rand.Rand
}

// newCalled is a run of a program: low sessions go by the one seed, high ones by the other.
func newCalled(t testing.TB, low, high uint64) *called {
	t.Helper()
	w := &called{
		script: &sessiontest.Scripted{Level: flow.Restricted}, now: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), open: map[sessions.Key]*sessions.Session{}, made: map[string][]string{},
		lows: rand.New(rand.NewPCG(low, 1)), high: rand.New(rand.NewPCG(high, 2)),
	}
	w.twoRun = &twoRun{TB: t, dir: sqlitetest.Dir(t), bus: silence{}, model: w.script, clock: w.tick, secret: fmt.Sprint("secret ", high), names: map[string]string{}}
	w.remote = w.board.tools
	w.twoRun.open()
	t.Cleanup(func() { require.NoError(t, w.db.Close()) })
	for _, key := range lowKeys {
		w.now = w.now.Add(time.Second)
		w.begin(key, flow.Public)
	}
	w.begin(highKey, flow.Confidential)
	w.begin(topKey, flow.Restricted)
	return w
}

// tick is the clock. It moves so that no two things of low sessions are of one time, in whole seconds, so that times are of one length. How
// often it is looked at depends on what is hidden: a denial is noted for the operator. So times themselves are not compared.
func (w *called) tick() time.Time {
	if w.ticking {
		w.now = w.now.Add(time.Second)
	}
	return w.now
}

// begin begins a session in place of the one that the key has, if any.
func (w *called) begin(key sessions.Key, level flow.Level) {
	w.Helper()
	record := sessions.Record{
		ID: sessions.NewID(), Key: key, Agent: cmp.Or(key.Agent(), "main"), Taint: flow.NewLabel(level, flow.Trusted), Clearance: flow.Restricted, Created: w.now, LastActivity: w.now,
		Route: sessions.Route{Channel: "telegram", Account: "default", ChatType: sessions.Direct, Conversation: "1"},
	}
	if key == narrowKey {
		record.Clearance = flow.Public
	}
	change := sessions.Change{Create: []sessions.Record{record}}
	if old := w.open[key]; old != nil {
		change.End = []sessions.End{{ID: old.Record().ID, At: w.now}}
	}
	require.NoError(w, w.db.CommitSession(w.Context(), change))
	w.take(record)
}

func (w *called) take(record sessions.Record) {
	w.Helper()
	s, err := w.loop.Open(w.Context(), record)
	require.NoError(w, err)
	w.open[record.Key] = s
}

// restart ends the gateway and opens it again on what is stored.
func (w *called) restart() {
	w.Helper()
	require.NoError(w, w.db.Close())
	w.twoRun.open()
	for _, s := range w.open {
		record, err := w.db.Session(w.Context(), s.Record().ID)
		require.NoError(w, err)
		w.take(record)
	}
}

// call has a session call a tool, and gives what it is told.
func (w *called) call(key sessions.Key, tool, args string) string {
	w.Helper()
	w.called++
	s := w.open[key]
	written := args
	args = aName.ReplaceAllStringFunc(args, w.id)
	run := sessions.Run{
		ID: sessions.NewRunID(), Session: s.Record().ID, Kind: sessions.KindMessage, Route: s.Record().Route,
		Input: sessions.Input{Text: "go", Owner: true, Sender: sessions.Peer{ID: "1"}},
	}
	w.script.Answers = []sessiontest.Answer{sessiontest.Calls(tool, args, fmt.Sprint("call_", len(s.Messages()))), sessiontest.Says("done"), sessiontest.Says("done")}
	s.Append(sessions.Message{Role: sessions.RoleUser, Run: run.ID, Parts: []sessions.Part{sessions.TextPart("go", flow.Bottom())}})
	require.NoError(w, s.Persist(w.Context()))
	_, err := w.loop.Work(w.Context(), &work.Assignment{Session: s, Run: &run, Emit: func(sessions.Event) {}})
	require.NoError(w, err)
	messages := s.Messages()
	part := messages[len(messages)-2].Parts[0]
	w.keep(key, tool, part.Text)
	if tool == "cron_list" {
		part.Text = w.inOrder(part.Text)
	}
	return timeless(fmt.Sprintf("%s %s %s: error %t, label %s, taint %s: %s", key, tool, written, part.Error, part.Label, s.Taint(), w.nameless(part.Text)))
}

// aName stands for the id of a job, or for that of an alert of a high session, in the order in which they were made.
var (
	aName  = regexp.MustCompile(`@(low|high|alarm)[0-9]`)
	noName = regexp.MustCompile(`(job|alert)-nothing0+`)
)

// id is the id that a name stands for. What is not made yet has another one, as long as the others: lengths are counted.
func (w *called) id(name string) string {
	made := w.made[name[:len(name)-1]]
	if n := int(name[len(name)-1] - '0'); n < len(made) {
		return made[n]
	}
	if strings.HasPrefix(name, alarmed) {
		return fmt.Sprintf("alert-nothing%023s", name[1:])
	}
	return fmt.Sprintf("job-nothing%09s", name[1:])
}

// nameless is a text with names in place of the ids of jobs and alerts.
func (w *called) nameless(text string) string {
	text = noName.ReplaceAllString(text, "@")
	for whose, made := range w.made {
		for n, id := range made {
			text = strings.ReplaceAll(text, id, fmt.Sprint(whose, n))
		}
	}
	return text
}

// alarmed is the name of alerts of high sessions. Those of low ones have keys that can be guessed.
const alarmed = "@alarm"

// keep notes the id of what was made.
func (w *called) keep(key sessions.Key, tool, result string) {
	w.Helper()
	var made struct{ ID, Key string }
	if json.Unmarshal([]byte(result), &made) != nil {
		return
	}
	low := slices.Contains(lowKeys, key)
	switch {
	case tool == "cron_add" && made.ID != "" && low:
		w.made["@low"] = append(w.made["@low"], made.ID)
	case tool == "cron_add" && made.ID != "":
		w.made["@high"] = append(w.made["@high"], made.ID)
	case tool == "alert_fire" && !low:
		if _, id, ok := strings.Cut(made.Key, alarmsOfMain); ok && !slices.Contains(w.made[alarmed], id) {
			w.made[alarmed] = append(w.made[alarmed], id)
		}
	}
}

// alarmsOfMain begins the keys of an agent's alerts.
const alarmsOfMain = "agent/main/"

// inOrder is a list of jobs in the order in which they were made: their ids are random.
func (w *called) inOrder(list string) string {
	w.Helper()
	var found struct{ Jobs []json.RawMessage }
	require.NoError(w, json.Unmarshal([]byte(list), &found), list)
	age := func(row json.RawMessage) int {
		var made struct{ ID string }
		require.NoError(w, json.Unmarshal(row, &made))
		return slices.Index(w.made["@low"], made.ID)
	}
	slices.SortFunc(found.Jobs, func(a, b json.RawMessage) int { return age(a) - age(b) })
	return fmt.Sprintf("%s", found.Jobs)
}

// anyCallOrCause draws a call, one in eight about jobs and one in eight about alerts.
func anyCallOrCause(r *rand.Rand) (tool, args string) {
	switch r.IntN(8) {
	case 0:
		return aboutJobs(r)
	case 1:
		return aboutAlerts(r)
	}
	return anyCall(r)
}

// aboutAlerts draws a call about alerts.
func aboutAlerts(r *rand.Rand) (tool, args string) {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	switch pick("fire", "fire", "list", "answer", "answer") {
	case "fire":
		return "alert_fire", fmt.Sprintf(`{"key":%q,"title":%q,"severity":%q%s}`, pick("disk", "backup"), pick("launch", "friday"), pick("warning", "critical"), pick("", `,"for":"1h"`))
	case "list":
		return "alert_list", pick(`{}`, `{"status":"all"}`, `{"filter":"severity=\"critical\""}`)
	}
	return pick("alert_ack", "alert_resolve"), fmt.Sprintf(`{"key":%q}`, pick(alarmsOfMain+"disk", alarmsOfMain+"backup", "agent/other/disk", alarmsOfMain+"@alarm0", alarmsOfMain+"@alarm1", "al-00000000"))
}

// aboutJobs draws a call about jobs.
func aboutJobs(r *rand.Rand) (tool, args string) {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	id := func() string { return pick("@low0", "@low1", "@low2", "@high0", "@high1", "@high2") }
	switch pick("add", "add", "list", "update", "one", "one", "one") {
	case "add":
		return "cron_add", fmt.Sprintf(`{"text":%q,%s}`, pick("launch", "friday"), pick(`"every":"24h"`, `"schedule":"0 7 * * *"`, `"every":"10s"`, `"in":"48h"`))
	case "list":
		return "cron_list", `{}`
	case "update":
		return "cron_update", fmt.Sprintf(`{"id":%q,"text":%q}`, id(), pick("launch", "friday"))
	}
	return pick("cron_show", "cron_show", "cron_history", "cron_pause", "cron_resume", "cron_run", "cron_remove"), fmt.Sprintf(`{"id":%q}`, id())
}

// anyCall draws a call. The words and keys are few, so that sessions meet.
func anyCall(r *rand.Rand) (tool, args string) {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	word := func() string {
		return pick("launch", "friday", "price", "launches", "secret plan", "it's-a:key", "none")
	}
	key := func() string {
		if n := r.IntN(len(lowKeys) + len(someKeys) + 1); n < len(lowKeys) {
			return string(lowKeys[n])
		} else if n -= len(lowKeys); n < len(someKeys) {
			return string(someKeys[n])
		}
		return pick(string(highKey), string(topKey), "main", "agent:main:nobody", "sess_000000000000")
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
			return "sessions_list", pick(`{}`, `{"limit":2}`, `{"messageLimit":2}`, `{"activeMinutes":100000}`, `{"kinds":["group"]}`)
		},
		func() (string, string) {
			return "sessions_history", fmt.Sprintf(`{"sessionKey":%q,"limit":%d,"includeTools":%t}`, key(), r.IntN(3), r.IntN(2) == 0)
		},
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
		func() (string, string) { return pick("todo_list", "todo_list", "todo_clear"), `{}` },
		func() (string, string) {
			return "simulate_tool_call", fmt.Sprintf(`{"tool_name":%q,"args":{"sessionKey":%q,"message":"x"}}`, pick("sessions_send", "sessions_history", "session_status", "none"), key())
		},
		func() (string, string) { return "summarize", pick(`{}`, `{"scope":"topic","focus":"launch"}`) },
		func() (string, string) {
			return pick("agents_list", "no_such_tool", "memory_list"), pick(`{}`, `{"after":"bm9uZQ"}`, `[]`)
		},
	}[r.IntN(16)]()
}

// highs lets high sessions do something, more or less often.
func (w *called) highs() {
	w.Helper()
	for range w.high.IntN(3) {
		switch key := someKeys[w.high.IntN(len(someKeys))]; w.high.IntN(12) {
		case 0: // one more is there, or another one in its place
			w.begin(key, flow.Confidential)
		case 1:
			w.board.write(w.secret)
		case 2: // an item that no session can have written: who has written it knew more
			w.addAbove([]sessions.Key{lowKey, otherKey, groupKey}[w.high.IntN(3)])
		default:
			keys := []sessions.Key{highKey, topKey}
			for _, k := range someKeys {
				if w.open[k] != nil {
					keys = append(keys, k)
				}
			}
			tool, args := anyCallOrCause(w.high)
			w.call(keys[w.high.IntN(len(keys))], tool, args)
		}
	}
}

func (w *called) addAbove(to sessions.Key) {
	w.Helper()
	above := sessions.Todo{
		ID: sessions.TodoID(fmt.Sprintf("todo_%012x", w.high.Uint64()>>16)), Session: w.open[to].Record().ID, Text: w.secret, Status: sessions.TodoOpen,
		Label: flow.NewLabel(flow.Confidential, flow.Trusted), Created: w.now, Updated: w.now,
	}
	require.NoError(w, w.db.ChangeTodos(w.Context(), sessions.TodoChange{Session: above.Session, Add: []sessions.Todo{above}}))
}

// rise has a session rise between the look at it and that at its messages.
func (w *called) rise() string {
	w.Helper()
	w.begin(risingKey, flow.Public)
	w.call(risingKey, "agents_list", `{}`)
	s := w.open[risingKey]
	w.store.between = func() {
		require.NoError(w, s.SetContent(s.Messages()[0].ID, w.secret, flow.NewLabel(flow.Confidential, flow.Trusted)))
		require.NoError(w, s.Persist(w.Context()))
	}
	return w.call(lowKey, "sessions_history", fmt.Sprintf(`{"sessionKey":%q}`, risingKey))
}

// step lets high sessions do something and then a low one call a tool.
func (w *called) step(n int) {
	w.Helper()
	w.highs()
	w.now, w.ticking = w.now.Add(time.Second), true
	defer func() { w.ticking = false }()
	if n%twoRunRestart == twoRunRestart-1 {
		w.restart()
	}
	key := lowKeys[w.lows.IntN(len(lowKeys))]
	tool, args := anyCallOrCause(w.lows)
	switch w.lows.IntN(40) {
	case 0:
		w.low(w.rise())
	case 1:
		w.begin(key, flow.Public)
	case 2, 3, 4:
		w.low(w.call(narrowKey, "mcp_board_read", `{}`))
	default:
		w.low(w.call(key, tool, args))
	}
}

// difference makes the calls of a program in both runs, and gives the first thing that low sessions were told otherwise; empty: there
// is none.
func difference(t testing.TB, seed uint64, planted func(*twoRun)) (found string, calls int) {
	t.Helper()
	return compare(seed, twoRunSteps, planted, newCalled(t, seed, 2*seed+100), newCalled(t, seed, 2*seed+101))
}

// soundly plants nothing.
func soundly(*twoRun) {}

// What high sessions do, and how often, changes nothing that low ones are told: texts, errors, orders, counts and cursors are
// the same, byte for byte. Over all programs more than ten thousand calls are made.
func TestTwoRunNoninterference(t *testing.T) {
	t.Parallel()
	total := programs(t, twoRunPrograms, difference)
	require.Greater(t, total, 10_000)
	t.Logf("%d calls in %d programs of two runs each", total, twoRunPrograms)
	keep(t, "tworun.json", twoRunRow{Calls: total, Programs: twoRunPrograms})
}
