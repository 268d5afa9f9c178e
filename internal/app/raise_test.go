package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters/telegram/telegramtest"
	"sluice/internal/model/modeltest"
)

// A call that does not fit into a budget waits for the owner, over a restart; the yes raises the limit, and the work goes on.
func TestTheOwnerRaisesABudgetByAButton(t *testing.T) {
	t.Parallel()
	bots, models := platforms(t)
	g := start(t, `owners: ["telegram:1001"]
models:
  default: p/m
  providers: { p: { kind: openai, apiKey: key, baseURL: "`+models.OpenAIURL()+`" } }
  prices: { p/m: { input: 1.00, output: 10.00 } }
agents: { defaults: { maxOutputTokens: 1000 } }
budgets: [{ name: house, scope: gateway, limit: 0.10, per: total, atLimit: ask }]
channels: { telegram: { dmPolicy: open, allowFrom: ["*"], accounts: { default: { token: "`+bots.Token()+`", apiBase: "`+bots.URL()+`" } } } }
`)
	owner, guest := telegramtest.User{ID: 1001, FirstName: "Ada"}, telegramtest.User{ID: 1002, FirstName: "Bob"}
	models.Enqueue(modeltest.Reply{Text: "Cheap.", Usage: modeltest.Usage{Input: 1000, Output: 1}}, modeltest.Reply{Text: "Dear.", Usage: modeltest.Usage{Input: 85_000, Output: 1}}, modeltest.Say("It is made."))
	for id, person := range map[int64]telegramtest.User{1002: guest, 1001: owner} {
		bots.Say(telegramtest.Private(id), person, "hello")
		_, err := bots.WaitSent(t.Context(), id, 1)
		require.NoError(t, err)
	}
	bots.Say(telegramtest.Private(1002), guest, "make it")
	sent, err := bots.WaitSent(t.Context(), 1001, 2)
	require.NoError(t, err)
	require.Contains(t, sent[1].Plain, "May I have 0.")
	require.Contains(t, sent[1].Plain, "USD more for budget house in total?")
	g.end()
	g.begin()
	require.Len(t, models.Requests(), 2, "waiting uses no model")
	require.True(t, bots.Press(telegramtest.Private(1001), sent[1].ID, owner, sent[1].Buttons[0].Label))
	answers, err := bots.WaitSent(t.Context(), 1002, 2)
	require.NoError(t, err)
	require.Equal(t, "It is made.", answers[1].Plain)
	require.Len(t, models.Requests(), 3)
	require.Empty(t, bots.Violations())
	require.Empty(t, models.Violations())
}
