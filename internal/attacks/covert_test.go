package attacks_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/policy"
	"sluice/policy/condition"
	"sluice/policy/flow"
	"sluice/router/inbound"
	"sluice/router/ledger"
	"sluice/sessions"
)

const (
	covertPrograms = 3
	covertSteps    = 40
	// muteKey is a session of a PUBLIC conversation that knows what is RESTRICTED: its people hear it no more, but for what the gateway says of it.
	muteKey = sessions.Key("agent:main:telegram:group:-6")
)

// covertRules are the rules of all compared gateways: a rate that is shared by all sessions of an agent, and calls about which somebody is asked.
func covertRules(t testing.TB) *policy.Rules {
	t.Helper()
	ask := func(name, tool, when string) policy.Rule {
		return policy.Rule{Name: name, Hook: policy.PreToolCall, Tools: []string{tool}, When: when, Action: policy.Hold}
	}
	rules, err := condition.NewRules([]policy.Rule{
		{Name: "seldom", Hook: policy.PreToolCall, Tools: []string{"agents_list"}, Action: policy.Block, Rate: &policy.Rate{Limit: 3, Per: 10_000 * time.Hour, By: policy.RateByAgent}},
		ask("ask-list", "todo_add", `string(tool.args.items[0]) == "ask somebody"`),
		ask("ask-memory", "memory_save", `tool.args.key == "ask somebody"`),
	})
	require.NoError(t, err)
	return rules
}

// covert is a workplace in which a session that knows something does what it likes, and the people of its PUBLIC conversation, and
// of others, give the gateway commands.
type covert struct {
	*workplace
	lows, high *rand.Rand
	noted      int // messages of the narrow session's thread
}

func newCovert(t testing.TB, low, high uint64) *covert {
	t.Helper()
	w := &covert{workplace: newWorkplace(t, puppet{}), lows: rand.New(rand.NewPCG(low, 5)), high: rand.New(rand.NewPCG(high, 6))}
	w.secret, w.remote = fmt.Sprint("secret", high), w.board.tools
	w.start()
	t.Cleanup(w.stop)
	for key, clearance := range map[sessions.Key]flow.Level{askingKey: flow.Restricted, narrowKey: flow.Public, highKey: flow.Restricted, muteKey: flow.Restricted} {
		w.begin(key, clearance)
	}
	w.tellMute(w.secret)
	return w
}

// tellMute says something to the mute session where everything may be said, as a program does over the API.
func (w *covert) tellMute(lines ...string) {
	w.Helper()
	w.admitMute(lines...)
	until(w, time.Millisecond, "runs and deliveries to end", w.idle)
}

func (w *covert) admitMute(lines ...string) {
	w.Helper()
	w.called += len(lines)
	record, err := w.db.SessionByKey(w.Context(), muteKey)
	require.NoError(w, err)
	in := adapters.Inbound{
		Event: fmt.Sprint("event/", w.ticks.Load()), Route: placeOfKey(highKey), Mentioned: true, SentAt: w.clock(),
		Sender: sessions.Peer{ID: "1", Name: "Ada"}, Text: strings.Join(lines, "\n"),
	}
	_, err = w.router.Intake.Admit(w.Context(), inbound.Admission{Session: record.ID, Inbound: in})
	require.NoError(w, err)
}

// asked waits for somebody to be asked about a call, and names the approval.
func (w *covert) asked() (id ledger.ApprovalID) {
	w.Helper()
	until(w, time.Millisecond, "the question", func() bool {
		open, err := w.db.ListApprovals(context.Background(), ledger.Query{MaxLevel: flow.Restricted, Status: string(ledger.ApprovalPending)})
		require.NoError(w, err)
		if len(open) > 0 {
			id = open[0].ID
		}
		return len(open) > 0
	})
	until(w, time.Millisecond, "the question to be shown: that of a call that is decided about before is never sent", w.silent)
	return id
}

// highStep is what the mute session does, and how much.
func (w *covert) highStep() {
	w.Helper()
	r := w.high
	switch r.IntN(6) {
	case 0:
		w.tellMute(call("session_status", args{"model": fmt.Sprint("m/", w.secret, r.IntN(3))}))
	case 1:
		w.tellMute(call("session_status", args{"model": "default"}))
	case 2:
		w.tellMute(call("sessions_spawn", args{"task": plain(r), "label": w.secret, "agentId": []string{"main", "other"}[r.IntN(2)]}))
	case 3:
		w.tellMute(plain(r), plain(r), plain(r))
	default:
		w.tellMute(`!call agents_list {}`, `!call agents_list {}`)
	}
}

// questions are calls about which somebody is asked.
func questions() []string {
	return []string{call("todo_add", args{"items": []string{"ask somebody"}}), call("memory_save", args{"key": "ask somebody", "content": "x"})}
}

// lowStep is what people do who may know what is PUBLIC.
func (w *covert) lowStep() {
	w.Helper()
	r := w.lows
	switch r.IntN(8) {
	case 0: // denied by an owner who types the reason where everything may be said
		w.admit(narrowKey, adapters.Inbound{Sender: sessions.Peer{ID: "1", Name: "Ada"}, Text: questions()[0]})
		w.say(highKey, fmt.Sprintf("/approve %s deny it is %s", w.asked(), w.secret))
	case 1: // about a call of the mute session, where others read it
		w.admitMute(questions()[w.high.IntN(2)])
		w.say(askingKey, fmt.Sprintf("/approve %s %s", w.asked(), []string{"allow", "deny"}[r.IntN(2)]))
	case 2:
		w.say(askingKey, `!call agents_list {}`, plain(r))
	case 3:
		w.say(narrowKey, plain(r), `!call agents_list {}`)
	default:
		commands := []string{"/status", "/usage", "/model", "/subagents", "/subagents stop all", "/stop", "/queue", "/whoami"}
		w.say(muteKey, commands[r.IntN(len(commands))])
	}
}

// observe notes what the people of PUBLIC conversations have been shown, and what the narrow session has read.
func (w *covert) observe() {
	w.Helper()
	record, err := w.db.SessionByKey(w.Context(), narrowKey)
	require.NoError(w, err)
	thread, err := w.db.Thread(w.Context(), record)
	require.NoError(w, err)
	for _, m := range thread[w.noted:] {
		for _, p := range m.Parts {
			w.low(timeless(fmt.Sprintf("%s %s: %s %s %s%s", narrowKey, m.Role, p.Label, p.Tool, p.Args, p.Text)))
		}
	}
	w.noted = len(thread)
	for _, key := range []sessions.Key{askingKey, narrowKey, muteKey} {
		for _, text := range w.shown.take(placeOfKey(key).Conversation) {
			w.low(fmt.Sprintf("shown to %s: %s", key, text))
		}
	}
}

// step lets the mute session work and then people give a command.
func (w *covert) step(int) {
	w.Helper()
	for range w.high.IntN(3) {
		w.highStep()
	}
	w.lowStep()
	w.observe()
}

// covertDifference lets two gateways go through a program, and gives the first text that differs between them; empty if all texts are the same.
func covertDifference(t testing.TB, seed uint64, planted func(*twoRun)) (found string, calls int) {
	t.Helper()
	return compare(seed, covertSteps, planted, newCovert(t, seed, 2*seed+100), newCovert(t, seed, 2*seed+101))
}

// What commands and decisions tell in PUBLIC conversations is the same, whatever a session does that knows more than may be said there: how much it
// uses, which model it takes, whom it has work, which tools it asks for, how often it does what a rule counts, and why it was denied.
func TestTwoRunCommands(t *testing.T) {
	t.Parallel()
	total := programs(t, covertPrograms, covertDifference)
	t.Logf("%d orders in %d programs of two runs each", total, covertPrograms)
	keep(t, "commands.json", twoRunRow{Calls: total, Programs: covertPrograms})
}
