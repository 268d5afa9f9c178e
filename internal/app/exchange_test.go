package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"sluice/adapters/telegram/telegramtest"
	"sluice/internal/freeport"
	"sluice/internal/model/modeltest"
	"sluice/router/steps"
)

const opsGroup = -1007

// Two agents, each with its people: one asks the other, they answer each other, and the other tells its people.
func TestAgentsTalkAndAnnounce(t *testing.T) {
	t.Parallel()
	bots := telegramtest.Start(t, telegramtest.Options{})
	models, err := modeltest.Start()
	require.NoError(t, err)
	t.Cleanup(models.Close)
	g := start(t, `owners: ["telegram:1001"]
models: { default: p/m, providers: { p: { kind: openai, apiKey: key, baseURL: "`+models.OpenAIURL()+`" } } }
agents: { list: [{ id: main, default: true }, { id: ops }] }
bindings: [{ match: { channel: telegram, group: "`+fmt.Sprint(opsGroup)+`" }, agent: ops }]
tools: { sessions: { visibility: all } }
channels:
  telegram:
    groups: { "`+fmt.Sprint(opsGroup)+`": { requireMention: false } }
    accounts: { default: { token: "`+bots.Token()+`", apiBase: "`+bots.URL()+`" } }
`)
	owner := telegramtest.User{ID: 1001, FirstName: "Ada"}
	group := telegramtest.Group(opsGroup, "Ops")
	models.Enqueue(modeltest.Say("Ops here."))
	bots.Say(group, owner, "hello")
	_, err = bots.WaitSent(t.Context(), opsGroup, 1)
	require.NoError(t, err)

	key := "agent:ops:telegram:group:" + fmt.Sprint(opsGroup)
	models.Enqueue(
		modeltest.Call("sessions_send", `{"sessionKey":"`+key+`","message":"How many servers?","timeoutSeconds":30}`),
		modeltest.Say("Seven."), modeltest.Say("Ops say: seven."), modeltest.Say("Thank you. All well?"), modeltest.Say("Yes."), modeltest.Say("REPLY_SKIP"),
		modeltest.Say("Main asked for the number of servers."),
	)
	bots.Say(telegramtest.Private(1001), owner, "ask ops how many servers there are")
	sent, err := bots.WaitSent(t.Context(), 1001, 1)
	require.NoError(t, err)
	require.Equal(t, "Ops say: seven.", sent[0].Text)
	sent, err = bots.WaitSent(t.Context(), opsGroup, 2)
	require.NoError(t, err)
	require.Equal(t, "Main asked for the number of servers.", sent[1].Text)

	requests := models.Requests()
	require.Len(t, requests, 8)
	last := func(i int) modeltest.Message { return requests[i].Messages[len(requests[i].Messages)-1] }
	require.Contains(t, requests[2].System, "The last message comes from another agent (agent main")
	require.Contains(t, last(2).Text, "How many servers?")
	require.Contains(t, last(3).Text, `"status":"ok"`)
	require.Contains(t, last(3).Text, `"reply":"Seven."`)
	require.Contains(t, requests[4].System, "turn 1 of at most 5")
	require.Contains(t, requests[7].System, "Its request was: How many servers?")
	require.NotContains(t, requests[3].System, "another agent", "what steers a step is told in that step alone")
	require.Len(t, bots.Sent(1001), 1, "the requester's people see none of the turns")
	var history struct{ Messages []struct{ Role, Text string } }
	read(t, g.call(http.MethodGet, "/v1/sessions/"+key+"/history", ""), http.StatusOK, &history)
	var roles []string
	for _, m := range history.Messages {
		roles = append(roles, m.Role)
	}
	require.Equal(t, []string{"user", "assistant", "agent", "assistant", "agent", "assistant", "agent", "assistant"}, roles)
	require.Empty(t, bots.Violations())
	require.Empty(t, models.Violations())
}

// Out of the box an owner's agents talk to each other. Nobody else has them do so, and the error names the setting.
func TestAgentsOfAnOwnerTalkByDefault(t *testing.T) {
	t.Parallel()
	bots := telegramtest.Start(t, telegramtest.Options{})
	models, err := modeltest.Start()
	require.NoError(t, err)
	t.Cleanup(models.Close)
	start(t, `owners: ["telegram:1001"]
models: { default: p/m, providers: { p: { kind: openai, apiKey: key, baseURL: "`+models.OpenAIURL()+`" } } }
agents: { list: [{ id: main, default: true }, { id: ops }] }
channels:
  telegram:
    dmPolicy: open
    allowFrom: ["*"]
    accounts: { default: { token: "`+bots.Token()+`", apiBase: "`+bots.URL()+`" } }
`)
	ask := modeltest.Call("sessions_send", `{"session_id":"agent:ops:main","content":"How many servers?"}`)
	last := func(i int) string {
		messages := models.Requests()[i].Messages
		return messages[len(messages)-1].Text
	}
	models.Enqueue(ask, modeltest.Say("Seven."), modeltest.Say("Ops say: seven."), modeltest.Say("REPLY_SKIP"))
	bots.Say(telegramtest.Private(1001), telegramtest.User{ID: 1001, FirstName: "Ada"}, "ask ops how many servers there are")
	sent, err := bots.WaitSent(t.Context(), 1001, 1)
	require.NoError(t, err)
	require.Equal(t, "Ops say: seven.", sent[0].Text)
	require.Contains(t, last(2), `"reply":"Seven."`)
	require.Eventually(t, func() bool { return len(models.Requests()) == 4 }, 20*time.Second, 10*time.Millisecond)

	models.Enqueue(ask, modeltest.Say("I may not."))
	bots.Say(telegramtest.Private(2002), telegramtest.User{ID: 2002, FirstName: "Eve"}, "ask ops how many servers there are")
	_, err = bots.WaitSent(t.Context(), 2002, 1)
	require.NoError(t, err)
	require.Contains(t, last(5), "tools.sessions.visibility is tree, which leaves them to an owner who speaks in the main session")
	require.Empty(t, bots.Violations())
}

// The steps of an exchange are messages on the embedded bus: each once, in order, without the words.
func TestStepsAreOnTheBus(t *testing.T) {
	t.Parallel()
	bots := telegramtest.Start(t, telegramtest.Options{})
	models, err := modeltest.Start()
	require.NoError(t, err)
	t.Cleanup(models.Close)
	listen, err := freeport.Addr()
	require.NoError(t, err)
	g := start(t, `bus: { listen: "`+listen+`" }
owners: ["telegram:1001"]
models: { default: p/m, providers: { p: { kind: openai, apiKey: key, baseURL: "`+models.OpenAIURL()+`" } } }
agents: { list: [{ id: main, default: true }, { id: ops }] }
bindings: [{ match: { channel: telegram, group: "`+fmt.Sprint(opsGroup)+`" }, agent: ops }]
tools: { sessions: { visibility: all } }
channels:
  telegram:
    groups: { "`+fmt.Sprint(opsGroup)+`": { requireMention: false } }
    accounts: { default: { token: "`+bots.Token()+`", apiBase: "`+bots.URL()+`" } }
`)
	conn, err := nats.Connect("nats://"+listen, nats.Token(g.Token()))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	sniffed := make(chan *nats.Msg, 100)
	_, err = conn.ChanSubscribe("sluice.>", sniffed)
	require.NoError(t, err)
	require.NoError(t, conn.Flush())

	owner := telegramtest.User{ID: 1001, FirstName: "Ada"}
	models.Enqueue(modeltest.Say("Ops here."))
	bots.Say(telegramtest.Group(opsGroup, "Ops"), owner, "hello")
	_, err = bots.WaitSent(t.Context(), opsGroup, 1)
	require.NoError(t, err)
	models.Enqueue(
		modeltest.Call("sessions_send", `{"sessionKey":"agent:ops:telegram:group:`+fmt.Sprint(opsGroup)+`","message":"How many servers?","timeoutSeconds":30}`),
		modeltest.Say("Seven."), modeltest.Say("Ops say: seven."),
		modeltest.Say("One."), modeltest.Say("Two."), modeltest.Say("Three."), modeltest.Say("Four."), modeltest.Say("Five."), modeltest.Say("That was all."),
	)
	bots.Say(telegramtest.Private(1001), owner, "ask ops how many servers there are")
	sent, err := bots.WaitSent(t.Context(), opsGroup, 2)
	require.NoError(t, err)
	require.Equal(t, "That was all.", sent[1].Text)

	var list struct {
		Exchanges []struct{ ID, Outcome string }
	}
	read(t, g.call(http.MethodGet, "/v1/exchanges", ""), http.StatusOK, &list)
	require.Len(t, list.Exchanges, 1)
	require.Equal(t, "announced", list.Exchanges[0].Outcome)
	var runs struct{ Runs []struct{ ID, Kind string } }
	read(t, g.call(http.MethodGet, "/v1/runs?exchange="+list.Exchanges[0].ID, ""), http.StatusOK, &runs)
	require.Len(t, runs.Runs, 7)

	require.NoError(t, conn.Flush())
	var seen []string
	for len(sniffed) > 0 {
		m := <-sniffed
		if !strings.HasPrefix(m.Subject, "sluice.steps.") {
			continue
		}
		var step steps.Message
		require.NoError(t, json.Unmarshal(m.Data, &step))
		require.Equal(t, list.Exchanges[0].ID, step.Data.Exchange)
		require.Equal(t, runs.Runs[len(runs.Runs)-1-len(seen)].ID, step.ID, "a step is its run")
		seen = append(seen, fmt.Sprint(step.Type, " ", step.Data.Turn, " ", step.Data.To.Agent))
		for _, words := range []string{"Seven", "servers", "Five"} {
			require.NotContains(t, string(m.Data), words)
		}
	}
	require.Equal(t, []string{
		"sluice.exchange.ask 0 ops", "sluice.exchange.reply 1 main", "sluice.exchange.reply 2 ops", "sluice.exchange.reply 3 main",
		"sluice.exchange.reply 4 ops", "sluice.exchange.reply 5 main", "sluice.exchange.announce 5 ops",
	}, seen)
}
