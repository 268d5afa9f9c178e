package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/model/modeltest"
)

// The cost of model calls is shown to an agent, in the report of a task, in a chat and over the API.
func TestCostsAreToldEverywhere(t *testing.T) {
	t.Parallel()
	models, err := modeltest.Start()
	require.NoError(t, err)
	t.Cleanup(models.Close)
	g := start(t, `models:
  default: p/m
  providers: { p: { kind: openai, apiKey: key, baseURL: "`+models.OpenAIURL()+`" } }
  prices: { p/m: { input: 1, output: 10, cached: 0.10 } }
budgets: [ { name: house, scope: gateway, limit: 5, per: day }, { name: mine, scope: agent, match: [main], limit: 1000000, unit: tokens, per: total } ]
tools: { sessions: { visibility: all } }
channels: { webchat: { classification: RESTRICTED } }
`)
	paid := func(r modeltest.Reply) modeltest.Reply {
		r.Usage = modeltest.Usage{Input: 1000, Output: 100, Cached: 500}
		return r
	}
	const each = 0.000_500 + 0.000_050 + 0.001 // USD for a call
	say := func(text string) string {
		answer := g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":`+fmt.Sprintf("%q", text)+`}`, "Accept", "application/json")
		defer answer.Body.Close() //nolint:errcheck // only read from
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, answer.StatusCode, string(body))
		return string(body)
	}
	models.Enqueue(paid(modeltest.Say("Hello.")), paid(modeltest.Call("session_status", `{}`)), paid(modeltest.Say("Seen.")))
	say("hello")
	say("how do you stand?")
	requests := models.Requests()
	seen := string(requests[len(requests)-1].Raw)
	for _, want := range []string{`\"cachedShare\":\"50%\"`, `\"cost\":\"0.0031 USD\"`, `\"name\":\"house\",\"limit\":\"5.00 USD\",\"per\":\"day\",\"used\":\"0.0031 USD\",\"left\":\"4.9969 USD\"`, `\"name\":\"mine\",\"limit\":\"1000000 tokens\",\"per\":\"total\",\"used\":\"2200 tokens\",\"left\":\"997800 tokens\"`} {
		require.Contains(t, seen, want)
	}

	// A sub-agent's task takes one call, and its announcement another.
	models.Enqueue(paid(modeltest.Call("sessions_spawn", `{"task":"count"}`)), paid(modeltest.Say("Done.")), paid(modeltest.Say("Done.")), paid(modeltest.Say("Done.")), paid(modeltest.Say("Done.")))
	say("have it counted")
	g.settled()
	var history json.RawMessage
	read(t, g.call(http.MethodGet, "/v1/sessions/main/history", ""), http.StatusOK, &history)
	require.Contains(t, string(history), "tokens 1000 in, 100 out · cost 0.0016 USD · session")

	var usage struct {
		Rows []struct {
			Agent, Cost, Currency string
			Calls                 int
			Tokens                struct{ Input, Cached int }
		}
	}
	read(t, g.call(http.MethodGet, "/v1/usage?by=agent", ""), http.StatusOK, &usage)
	require.Len(t, usage.Rows, 1)
	row := usage.Rows[0]
	require.Equal(t, len(models.Requests()), row.Calls, "each request is a call")
	require.Equal(t, "main USD", row.Agent+" "+row.Currency)
	require.Equal(t, strings.TrimRight(fmt.Sprintf("%.9f", each*float64(row.Calls)), "0"), row.Cost)
	require.Equal(t, []int{1000 * row.Calls, 500 * row.Calls}, []int{row.Tokens.Input, row.Tokens.Cached})
	var budgets struct {
		Budgets []struct{ Name, Used, Reserved string }
	}
	read(t, g.call(http.MethodGet, "/v1/budgets", ""), http.StatusOK, &budgets)
	require.Equal(t, row.Cost+" 0", budgets.Budgets[0].Used+" "+budgets.Budgets[0].Reserved)
	require.Equal(t, fmt.Sprint(1100*row.Calls), budgets.Budgets[1].Used)
	require.Contains(t, say("/usage"), "(50% from the provider's cache)")
}

// What is left of a shared budget tells a session nothing about one that knows more.
func TestABudgetDoesNotTellOfSessionsAbove(t *testing.T) {
	t.Parallel()
	models, err := modeltest.Start()
	require.NoError(t, err)
	t.Cleanup(models.Close)
	g := start(t, `models: { default: p/m, providers: { p: { kind: openai, apiKey: key, baseURL: "`+models.OpenAIURL()+`" } }, prices: { p/m: { input: 0, output: 1000 } } }
budgets: [ { name: house, scope: gateway, limit: 50, per: total } ]
tools: { sessions: { visibility: all } }
channels: { webchat: { classification: RESTRICTED } }
`)
	var low, high struct{ ID string }
	read(t, g.call(http.MethodPost, "/v1/sessions", `{}`), http.StatusCreated, &low)
	read(t, g.call(http.MethodPost, "/v1/sessions", `{}`), http.StatusCreated, &high)
	say := func(session, label string, replies ...modeltest.Reply) {
		for i := range replies {
			replies[i].Usage = modeltest.Usage{Input: 1, Output: 1000} // 1.00 USD
		}
		models.Enqueue(replies...)
		read(t, g.call(http.MethodPost, "/v1/sessions/"+session+"/messages", `{"message":"hello","label":"`+label+`"}`, "Accept", "application/json"), http.StatusOK, nil)
	}
	status := func(session, label string) string {
		say(session, label, modeltest.Call("session_status", `{}`), modeltest.Say("Seen."))
		requests := models.Requests()
		raw := string(requests[len(requests)-1].Raw)
		return raw[strings.LastIndex(raw, `\"budgets\":[{`):] // the latest of the conversation
	}
	require.Contains(t, status(low.ID, "PUBLIC"), `\"used\":\"1.00 USD\",\"left\":\"49.00 USD\"`)
	say(high.ID, "CONFIDENTIAL", modeltest.Say("I know a secret."))
	require.Contains(t, status(high.ID, "CONFIDENTIAL"), `\"used\":\"4.00 USD\"`, "it sees all")
	require.Contains(t, status(low.ID, "PUBLIC"), `\"used\":\"3.00 USD\",\"left\":\"47.00 USD\"`, "its own calls alone")
}
