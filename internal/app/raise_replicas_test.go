package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"sluice/adapters/telegram/telegramtest"
	"sluice/internal/model/modeltest"
	"sluice/store/storetest"
)

// replicas are gateways that share a PostgreSQL database and a bus.
func replicas(t *testing.T, n int, text string) []*gateway {
	t.Helper()
	bus, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true})
	require.NoError(t, err)
	bus.Start()
	t.Cleanup(func() { bus.Shutdown(); bus.WaitForShutdown() })
	require.True(t, bus.ReadyForConnections(30*time.Second))
	shared := "store: { url: \"" + storetest.Postgres(t) + "\" }\nbus: { url: \"" + bus.ClientURL() + "\" }\n"
	all := make([]*gateway, n)
	for i := range all {
		g := &gateway{t: t, state: t.TempDir(), log: newOutput()}
		g.cfg = load(t, g.state, shared+text)
		g.begin()
		t.Cleanup(g.end)
		all[i] = g
	}
	return all
}

// Several people's runs wait for the owner on PostgreSQL, at whichever replica works their sessions. Some questions are answered by
// the button, at the replica that has the bot, and some over the API, at the other one. Each run goes on where it waits.
func TestTheOwnerRaisesBudgetsAtAnotherReplica(t *testing.T) {
	t.Parallel()
	bots, models := platforms(t)
	const guests = 6
	gateways := replicas(t, 2, `owners: ["telegram:1001"]
models:
  default: p/m
  providers: { p: { kind: openai, apiKey: key, baseURL: "`+models.OpenAIURL()+`" } }
  prices: { p/m: { input: 1.00, output: 10.00 } }
agents: { defaults: { maxOutputTokens: 1000 } }
session: { dmScope: per-peer }
budgets: [{ name: each, scope: person, limit: 0.10, per: total, atLimit: ask }]
channels: { telegram: { dmPolicy: open, allowFrom: ["*"], accounts: { default: { token: "`+bots.Token()+`", apiBase: "`+bots.URL()+`" } } } }
`)
	say := func(text string, sent int, reply func(id int64) modeltest.Reply) {
		t.Helper()
		for id := int64(2001); id <= 2000+guests; id++ {
			if reply != nil {
				models.Enqueue(reply(id))
			}
			bots.Say(telegramtest.Private(id), telegramtest.User{ID: id, FirstName: fmt.Sprintf("Guest %d", id)}, text)
			if sent > 0 {
				_, err := bots.WaitSent(t.Context(), id, sent)
				require.NoError(t, err)
			}
		}
	}
	owner := telegramtest.User{ID: 1001, FirstName: "Ada"}
	bots.Say(telegramtest.Private(1001), owner, "/help")
	_, err := bots.WaitSent(t.Context(), 1001, 1)
	require.NoError(t, err)
	say("hello", 1, func(int64) modeltest.Reply {
		return modeltest.Reply{Text: "Dear.", Usage: modeltest.Usage{Input: 88_000, Output: 1}}
	})
	say("make it", 0, nil)
	questions, err := bots.WaitSent(t.Context(), 1001, 1+guests)
	require.NoError(t, err)
	require.Len(t, models.Requests(), guests, "waiting uses no model")

	for _, g := range gateways { // the inbox of both
		var raw json.RawMessage
		read(t, g.call(http.MethodGet, "/v1/approvals?status=pending", ""), http.StatusOK, &raw)
		require.Equal(t, guests, strings.Count(string(raw), `"tool":"a larger budget"`), string(raw))
	}
	for range guests {
		models.Enqueue(modeltest.Say("It is made."))
	}
	byButton := 0
	for _, q := range questions[1:] {
		require.Contains(t, q.Plain, "USD more for budget each in total?")
		if byButton == guests/2 {
			break
		}
		byButton++
		require.True(t, bots.Press(telegramtest.Private(1001), q.ID, owner, q.Buttons[0].Label))
		_, err := bots.WaitSent(t.Context(), 1001, 1+guests+byButton) // each says what was allowed
		require.NoError(t, err)
	}
	for i, g := range gateways {
		var rest struct{ Approvals []struct{ ID string } }
		read(t, g.call(http.MethodGet, "/v1/approvals?status=pending", ""), http.StatusOK, &rest)
		for j, p := range rest.Approvals {
			if i == 0 && j > 0 {
				break // the others are answered at the second replica
			}
			var decided json.RawMessage
			read(t, g.call(http.MethodPost, "/v1/approvals/"+p.ID+"/allow", `{}`), http.StatusOK, &decided)
		}
	}
	for id := int64(2001); id <= 2000+guests; id++ {
		answers, err := bots.WaitSent(t.Context(), id, 2)
		require.NoError(t, err)
		require.Equal(t, "It is made.", answers[1].Plain)
	}
	require.Len(t, models.Requests(), 2*guests)
	require.Empty(t, bots.Violations())
	require.Empty(t, models.Violations())
}
