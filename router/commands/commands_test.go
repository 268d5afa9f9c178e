package commands

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/announce"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/branches"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/router/queue"
	"sluice/sessions"
)

// Only the newest branches are listed, each with its number.
func TestListOfBranches(t *testing.T) {
	t.Parallel()
	list := func(n int) string {
		var all []branches.Branch
		for i := range n {
			id := sessions.MessageID(fmt.Sprint("m", i))
			asked := sessions.Message{ID: id, Parts: []sessions.Part{{Type: sessions.PartText, Text: fmt.Sprint("q", i+1)}}, Label: flow.Bottom()}
			all = append(all, branches.Branch{ID: id, Question: asked, Selected: i == n-1})
		}
		return listBranches(Call{Session: sessions.Record{Taint: flow.Bottom()}, Quotes: policy.NewQuotation(flow.Public)}, all)
	}
	require.Contains(t, list(0), "no other branch")
	require.Contains(t, list(1), "no other branch")
	two := list(2)
	require.Contains(t, two, "\n1. “q1” → “no reply”\n2. “q2” → “no reply” (current)")
	require.NotContains(t, two, "“q1” → “no reply” (cur")
	require.Equal(t, maxBranches, strings.Count(list(maxBranches), "→"))
	most := list(maxBranches + 1)
	require.Equal(t, maxBranches, strings.Count(most, "→"))
	require.NotContains(t, most, "\n1. ")
	require.Contains(t, most, "\n2. “q2”")
}

func TestNumberUpTo(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"1": true, "7": true, "0": false, "8": false, "-1": false, "x": false, "": false} {
		_, ok := numberUpTo(7, text)
		require.Equal(t, want, ok, text)
	}
}

func TestParseCommand(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text string
		want Command
		ok   bool
	}{
		{"/help", Command{"help", ""}, true},
		{" /HELP ", Command{"help", ""}, true},
		{"/start", Command{"help", ""}, true},
		{"/send off", Command{"send", "off"}, true},
		{"/send: off", Command{"send", "off"}, true},
		{"/pair approve ABCD", Command{"pair", "approve ABCD"}, true},
		{"/usr/bin is a directory", Command{}, false},
		{"/helpme", Command{}, false},
		{"say /help", Command{}, false},
		{"/help\nand more", Command{}, false},
		{"/new tell me\na story", Command{"new", "tell me\na story"}, true},
		{"/", Command{}, false},
		{"", Command{}, false},
	} {
		got, ok := Parse(tc.text)
		require.Equal(t, tc.ok, ok, tc.text)
		if ok {
			require.Equal(t, tc.want, got, tc.text)
		}
	}
}

func FuzzParseCommand(f *testing.F) {
	f.Add("/send off")
	f.Add("/\x00")
	f.Fuzz(func(t *testing.T, text string) {
		cmd, ok := Parse(text)
		if ok {
			require.NotEmpty(t, cmd.Name)
			require.True(t, cmd.Name == "new" || cmd.Name == "reset" || cmd.Name == "edit" || !strings.Contains(cmd.Args, "\n"), cmd)
		}
	})
}

// nobodyBelow is a store whose conversations have no threads with a setting of their own.
type nobodyBelow struct{ Store }

func (nobodyBelow) SendersBelow(context.Context, sessions.Key, int) ([]sessions.Record, error) {
	return nil, nil
}

// namingAgent is an agent with one model.
type namingAgent struct{}

func (namingAgent) ModelName(string) string { return "test/model" }

// MaxTemperature implements [TemperatureChecker].
func (namingAgent) MaxTemperature(model string) float32 {
	if model == "test/cool" {
		return 1
	}
	return sessions.TemperatureMax
}

// settingsCommands has what commands need that change a session's settings.
func settingsCommands() *Commands {
	settings := &place.Settings{Keyer: sessions.Keyer{Scope: sessions.ScopePerPeer}, Queue: queue.Settings{Mode: sessions.QueueCollect}}
	places := &place.Places{SinkLevel: func(sessions.Route) flow.Level { return flow.Public }}
	return &Commands{Store: nobodyBelow{}, Models: namingAgent{}, Places: places, Settings: func() *place.Settings { return settings }, Now: time.Now}
}

// Each word of a command that changes a setting: what it sets, and what it answers. Any other word changes nothing.
func TestWordsOfSettings(t *testing.T) {
	t.Parallel()
	r := settingsCommands()
	group := sessions.Route{Channel: "test", ChatType: sessions.Group, Conversation: "g"}
	thread, direct := group, sessions.Route{Channel: "test", ChatType: sessions.Direct, Conversation: "c"}
	thread.Thread = "t"
	for _, c := range []struct {
		command func(*Commands, context.Context, Call) (ledger.Change, string, error)
		route   sessions.Route
		args    string
		want    sessions.Record // its settings
		answer  string
	}{
		{(*Commands).send, group, "on", sessions.Record{SendPolicy: sessions.SendAllow}, "Sending is on in this channel"},
		{(*Commands).send, group, "ALLOW", sessions.Record{SendPolicy: sessions.SendAllow}, "Sending is on"},
		{(*Commands).send, thread, "off", sessions.Record{SendPolicy: sessions.SendDeny}, "Sending is off in this thread"},
		{(*Commands).send, direct, "deny", sessions.Record{SendPolicy: sessions.SendDeny}, "Sending is off in this chat"},
		{(*Commands).send, group, "inherit", sessions.Record{}, "follows the configuration again."},
		{(*Commands).send, thread, "reset", sessions.Record{}, "follows the channel again."},
		{(*Commands).send, group, "maybe", sessions.Record{}, "Usage: `/send on`"},
		{(*Commands).activation, group, "mention", sessions.Record{Activation: sessions.ActivationMention}, "only when somebody mentions me"},
		{(*Commands).activation, group, "Always", sessions.Record{Activation: sessions.ActivationAlways}, "I answer every message here now"},
		{(*Commands).activation, group, "default", sessions.Record{}, "follows the configuration again."},
		{(*Commands).activation, group, "", sessions.Record{}, "Usage: `/activation mention`"},
		{(*Commands).activation, direct, "always", sessions.Record{}, "is for groups"},
		{(*Commands).queue, direct, "steer", sessions.Record{QueueMode: sessions.QueueSteer}, "between two steps"},
		{(*Commands).queue, direct, "FOLLOWUP", sessions.Record{QueueMode: sessions.QueueFollowup}, "one by one"},
		{(*Commands).queue, direct, "collect", sessions.Record{QueueMode: sessions.QueueCollect}, "all at once"},
		{(*Commands).queue, direct, "interrupt", sessions.Record{QueueMode: sessions.QueueInterrupt}, "stops my current work"},
		{(*Commands).queue, direct, "reset", sessions.Record{}, "follows the configuration again"},
		{(*Commands).queue, direct, "fast", sessions.Record{}, "Usage: `/queue steer`"},
		{(*Commands).queue, direct, "", sessions.Record{}, "Queue mode: `collect` (as configured). While I work, new messages wait. Then I answer them all at once."},
		{(*Commands).temperature, direct, "0.70", sessions.Record{Temperature: "0.7"}, "From your next message on, I answer with temperature 0.7."},
		{(*Commands).temperature, direct, "2", sessions.Record{Temperature: "2"}, "temperature 2."},
		{(*Commands).temperature, direct, "2.1", sessions.Record{}, "For the model `test/model`, N is a number from 0 to 2 with at most two decimals"},
		{(*Commands).temperature, direct, "warm", sessions.Record{}, "Usage: `/temperature N`"},
		{(*Commands).temperature, direct, "default", sessions.Record{}, "follows the configuration again"},
		{(*Commands).temperature, direct, "", sessions.Record{}, "Temperature: as configured."},
		{(*Commands).maxTokens, direct, "4096", sessions.Record{MaxTokens: 4096}, "at most 4096 tokens"},
		{(*Commands).maxTokens, direct, "0", sessions.Record{}, "Usage: `/maxtokens N`"},
		{(*Commands).maxTokens, direct, "1000001", sessions.Record{}, "from 1 to 1000000"},
		{(*Commands).maxTokens, direct, "inherit", sessions.Record{}, "follows the configuration again"},
		{(*Commands).maxTokens, direct, "", sessions.Record{}, "Maximum tokens of a reply: as configured."},
		{(*Commands).set, direct, "", sessions.Record{}, "Temperature: as configured. Maximum tokens of a reply: as configured. Effort: as configured."},
		{(*Commands).set, direct, "temperature 0.7", sessions.Record{Temperature: "0.7"}, "From your next message on, I answer with temperature 0.7."},
		{(*Commands).set, direct, "Temperature  default", sessions.Record{}, "follows the configuration again"},
		{(*Commands).set, direct, "tokens 4096", sessions.Record{MaxTokens: 4096}, "at most 4096 tokens"},
		{(*Commands).set, direct, "tokens many", sessions.Record{}, "Usage: `/maxtokens N`"},
		{(*Commands).set, direct, "effort High", sessions.Record{ThinkingLevel: sessions.ThinkingHigh}, "I answer with effort high."},
		{(*Commands).set, direct, "effort off", sessions.Record{ThinkingLevel: sessions.ThinkingOff}, "I answer with effort off."},
		{(*Commands).set, direct, "effort default", sessions.Record{}, "follows the configuration again"},
		{(*Commands).set, direct, "effort", sessions.Record{}, "Effort: as configured."},
		{(*Commands).set, direct, "effort max", sessions.Record{}, "Usage: `/set effort off`"},
		{(*Commands).set, direct, "colour red", sessions.Record{}, "Usage: `/set temperature N`"},
		{(*Commands).model, direct, "test/other", sessions.Record{Model: flow.NewText("test/other", flow.Bottom())}, "`test/other` answers from your next message on."},
		{(*Commands).model, direct, "default", sessions.Record{}, "The agent's own model answers again: `test/model`."},
		{(*Commands).model, direct, "", sessions.Record{}, "Model: `test/model` (the agent's own)."},
	} {
		key := sessions.Key("agent:main:group:g")
		if c.route.Thread != "" {
			key = sessions.Keyer{Scope: sessions.ScopePerPeer}.Key("main", c.route, "")
		}
		for _, fresh := range []bool{false, true} {
			in := place.Arrival{}
			in.Route, in.Sender.ID = c.route, "owner"
			call := Call{In: in, Owner: true, Args: c.args, Fresh: fresh, Session: sessions.Record{ID: "sess_1", Key: key, Agent: "main"}, Quotes: policy.NewQuotation(flow.Public)}
			change, answer, err := c.command(r, t.Context(), call)
			require.NoError(t, err)
			require.Contains(t, answer, c.answer, c.args)
			got, changed := call.Session, len(change.Audit) > 0
			if fresh && changed {
				require.Empty(t, change.Patch)
				got = change.Create[0]
			} else if changed {
				require.Empty(t, change.Create)
				require.Equal(t, sessions.ID("sess_1"), change.Patch[0].ID)
				change.Patch[0].Apply(&got)
			}
			require.Equal(t, c.want.SendPolicy, got.SendPolicy, c.args)
			require.Equal(t, c.want.Activation, got.Activation, c.args)
			require.Equal(t, c.want.QueueMode, got.QueueMode, c.args)
			require.Equal(t, c.want.Model.Raw(), got.Model.Raw(), c.args)
			if changed {
				require.Equal(t, "test:owner", change.Audit[0].Actor)
				require.Equal(t, string(key), change.Audit[0].Object)
			}
		}
	}
}

// Each command is in the menu, under its name and with what it does.
func TestMenuOfCommands(t *testing.T) {
	t.Parallel()
	menu := Menu()
	require.Len(t, menu, len(table()))
	for i, c := range table() {
		require.Equal(t, adapters.Command{Name: c.name, Description: c.help}, menu[i])
		ways := 0
		for _, way := range []bool{c.run != nil, c.answer != nil, c.order != nil} {
			if way {
				ways++
			}
		}
		require.Equal(t, 1, ways, "/%s is carried out in one way", c.name)
	}
}

// What /send counts for is said in the platform's own words.
func TestReachOfSend(t *testing.T) {
	t.Parallel()
	group := sessions.Route{Channel: "slack", ChatType: sessions.Channel}
	thread, topic := group, sessions.Route{Channel: "telegram", ChatType: sessions.Group, Thread: "1"}
	thread.Thread = "1"
	direct := sessions.Route{Channel: "slack", ChatType: sessions.Direct}
	for _, c := range []struct {
		route sessions.Route
		keyer sessions.Keyer
		want  string
	}{
		{group, sessions.Keyer{}, "in this channel and its threads"},
		{thread, sessions.Keyer{}, "in this thread"},
		{topic, sessions.Keyer{}, "in this topic"},
		{direct, sessions.Keyer{Scope: sessions.ScopePerPeer}, "in this chat"},
		{direct, sessions.Keyer{Scope: sessions.ScopeMain}, "in all direct chats of this session"},
		{group, sessions.Keyer{Scope: sessions.ScopeMain}, "in this channel and its threads"},
		{group, sessions.Keyer{Global: true}, "in all conversations, because they share one session"},
	} {
		require.Equal(t, c.want, reach(c.route, c.keyer))
	}
	require.Empty(t, included("slack", 0))
	require.Contains(t, included("slack", 1), "1 thread that had a setting of its own.")
	require.Contains(t, included("telegram", 2), "2 topics that had a setting of their own.")
	require.Contains(t, included("slack", maxBelow), "send the command again")
	require.NotContains(t, included("slack", maxBelow-1), "send the command again")
}

func TestStateOfATask(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	task := func(change func(*announce.Exchange)) ledger.Exchange {
		x := announce.Exchange{Phase: announce.Ended, Started: now.Add(-time.Hour), Ended: now.Add(-90 * time.Second)}
		change(&x)
		return ledger.Exchange{Exchange: x}
	}
	for want, x := range map[string]ledger.Exchange{
		"started 1h0m0s ago":       task(func(x *announce.Exchange) { x.Phase = announce.Asking }),
		"done, writing its report": task(func(x *announce.Exchange) { x.Phase = announce.Announcing }),
		"success 1m30s ago":        task(func(x *announce.Exchange) { x.Status, x.Outcome = "success", announce.Announced }),
		"announced 1m30s ago":      task(func(x *announce.Exchange) { x.Outcome = announce.Announced }),
		"stopped 1m30s ago":        task(func(x *announce.Exchange) { x.Status, x.Outcome = "success", announce.Stopped }),
	} {
		require.Equal(t, want, taskState(x, now))
	}
	for id, want := range map[string]string{"": "", "abc": "abc", "12345678": "12345678", "x12345678": "12345678"} {
		require.Equal(t, want, shortID(id))
	}
	tasks := []ledger.Exchange{{Exchange: announce.Exchange{ID: "xch_1234"}}, {Exchange: announce.Exchange{ID: "xch_5234"}}, {Exchange: announce.Exchange{ID: "xch_9999"}}}
	require.Empty(t, namedBy(tasks, "234"), "an id of three characters names none")
	require.Len(t, namedBy(tasks, "1234"), 1)
	require.Len(t, namedBy(tasks, "9999"), 1)
	require.Empty(t, namedBy(tasks, "0000"))
}

// Others are told the magnitude of a count, which they are at once when it is reached.
func TestMagnitude(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{
		0: "less than 1,000", 999: "less than 1,000", 1000: "more than 1,000", 9_999: "more than 1,000", 10_000: "more than 10,000",
		100_000: "more than 100,000", 1_000_000: "more than 1 million", 10_000_000: "more than 10 million", math.MaxInt: "more than 10 million",
	} {
		require.Equal(t, want, magnitude(n), n)
	}
}

// A model that takes less than the session's temperature gets what it takes, and people are told.
func TestTemperatureAboveWhatTheModelTakes(t *testing.T) {
	t.Parallel()
	k := settingsCommands()
	cool := flow.NewText("test/cool", flow.Bottom())
	call := func(record sessions.Record, args string, private bool) Call {
		c := Call{Args: args, Session: record, Owner: private, Quotes: policy.NewQuotation(flow.Restricted)}
		c.In.Route.ChatType = sessions.Direct
		return c
	}
	_, text, err := k.temperature(t.Context(), call(sessions.Record{Model: cool}, "1.1", true))
	require.NoError(t, err)
	require.Contains(t, text, "For the model `test/cool`, N is a number from 0 to 1 ")
	_, text, err = k.temperature(t.Context(), call(sessions.Record{Model: cool, Temperature: "1.5"}, "", true))
	require.NoError(t, err)
	require.Equal(t, "Temperature: 1.5 (set for this session; the model takes at most 1, so I use 1).", text)

	warm := call(sessions.Record{Temperature: "1.5", MaxTokens: 9}, "test/cool", true)
	_, text, err = k.model(t.Context(), warm)
	require.NoError(t, err)
	require.Equal(t, "`test/cool` answers from your next message on. It takes a temperature of at most 1, so I use 1 instead of 1.5.", text)
	require.Equal(t, "\n- temperature: 1.5 (set for this session)\n- maximum tokens of a reply: 9 (set for this session)", k.answerLines(warm))
	require.Empty(t, k.answerLines(call(warm.Session, "", false)), "only an owner in private sees them")
	require.Empty(t, k.answerLines(call(sessions.Record{}, "", true)))
}
