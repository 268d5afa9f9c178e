package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/announce"
	"sluice/policy/flow"
	"sluice/router/exchange"
	"sluice/router/ledger"
	"sluice/sessions"
)

func (g *gateway) Exchange(_ context.Context, id string) (ledger.Exchange, error) {
	i := slices.IndexFunc(g.exchanges, func(x ledger.Exchange) bool { return x.ID == id })
	if i < 0 {
		return ledger.Exchange{}, sessions.ErrNotFound
	}
	return g.exchanges[i], nil
}

func (g *gateway) ListExchanges(_ context.Context, q ledger.ExchangeQuery) ([]ledger.Exchange, error) {
	var found []ledger.Exchange
	for _, x := range g.exchanges {
		if (q.Requester == "" || x.Requester.Session == q.Requester) && (q.Target == "" || x.Target.Session == q.Target) &&
			(q.Kind == "" || x.Kind == q.Kind) && (!q.Open || x.Phase != announce.Ended) && len(found) < q.Limit {
			found = append(found, x)
		}
	}
	return found, g.fail
}

func (g *gateway) StartTask(_ context.Context, n exchange.NewTask) (ledger.Exchange, error) {
	g.tasks = append(g.tasks, n)
	x := ledger.Exchange{First: "run_1", Label: flow.Bottom()}
	x.ID, x.Kind, x.Request, x.Phase, x.Started = "xch_1", announce.Spawn, n.Text, announce.Asking, clock
	return x, g.fail
}

// storedExchange is one between two sessions, n minutes old.
func storedExchange(id string, from, to sessions.ID, kind announce.Kind, n int) ledger.Exchange {
	x := ledger.Exchange{Label: flow.Bottom(), Chain: sessions.Chain{ID: "chn_1", Hops: []sessions.ID{from}}}
	x.ID, x.Kind, x.Phase, x.Started = id, kind, announce.Asking, clock.Add(-time.Duration(n)*time.Minute)
	x.Requester, x.Target = announce.Party{Session: from}, announce.Party{Session: to}
	return x
}

func TestExchangesAreListed(t *testing.T) {
	t.Parallel()
	g := newGateway()
	g.add(sessions.Record{ID: "sess_000000000001", Key: "agent:main:main"})
	ended := storedExchange("xch_c", "sess_000000000001", "sess_000000000003", announce.Spawn, 1)
	ended.Exchange = announce.Stop(ended.Exchange, "a person stopped it", clock)
	ended.Route = sessions.Route{Channel: "telegram", Conversation: "42", Handle: "secret"}
	g.exchanges = []ledger.Exchange{
		storedExchange("xch_d", "sess_000000000002", "sess_000000000003", announce.Send, 0), ended,
		storedExchange("xch_b", "sess_000000000002", "sess_000000000001", announce.Send, 2),
		storedExchange("xch_a", "sess_000000000001", "sess_000000000002", announce.Send, 3),
	}
	h := serve(t, g)
	for query, want := range map[string][]string{
		"":                           {"xch_d", "xch_c", "xch_b", "xch_a"},
		"?session=main":              {"xch_c", "xch_b", "xch_a"},
		"?session=agent:main:main":   {"xch_c", "xch_b", "xch_a"},
		"?session=sess_000000000001": {"xch_c", "xch_b", "xch_a"},
		"?session=main&limit=2":      {"xch_c", "xch_b"},
		"?kind=spawn":                {"xch_c"},
		"?open=true":                 {"xch_d", "xch_b", "xch_a"},
		"?session=sess_000000000009": nil,
	} {
		w := call(h, "GET", "/v1/exchanges"+query, "")
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		var got struct{ Exchanges []struct{ ID string } }
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
		var ids []string
		for _, x := range got.Exchanges {
			ids = append(ids, x.ID)
		}
		require.Equal(t, want, ids, query)
	}
	require.Contains(t, call(h, "GET", "/v1/exchanges?session=sess_000000000009", "").Body.String(), `"exchanges":[]`)
	one := call(h, "GET", "/v1/exchanges/xch_c", "").Body.String()
	require.Contains(t, one, `"outcome":"stopped","detail":"a person stopped it"`)
	require.Contains(t, one, `"hops":["sess_000000000001"]`)
	require.NotContains(t, one, "secret")
	for path, status := range map[string]int{
		"/v1/exchanges/xch_none": 404, "/v1/exchanges?session=agent:main:none": 404, "/v1/exchanges?kind=all": 422,
		"/v1/exchanges?open=perhaps": 422, "/v1/exchanges?limit=0": 422, "/v1/exchanges?limit=201": 422,
	} {
		w := call(h, "GET", path, "")
		require.Contains(t, []int{status, http.StatusBadRequest}, w.Code, path)
	}
}

func TestTaskIsStarted(t *testing.T) {
	t.Parallel()
	g := newGateway()
	r := g.add(sessions.Record{ID: "sess_000000000001", Key: "agent:main:main"})
	h := serve(t, g)
	w := call(h, "POST", "/v1/sessions/main/tasks", `{"task":"look","name":"prices","agent":"other","model":"a/b","timeout":90,"cleanup":"delete"}`, "Idempotency-Key: k1")
	require.Equal(t, http.StatusAccepted, w.Code, w.Body)
	require.Contains(t, w.Body.String(), `"first_run":"run_1"`)
	require.Equal(t, exchange.NewTask{
		Session: r, Text: "look", Agent: "other", Model: "a/b", Key: "api/k1", Label: flow.Bottom(), Actor: "operator",
		Route: sessions.Route{Channel: "webchat", Account: "default", ChatType: sessions.Direct, Conversation: "local"},
		Task:  exchange.Task{Name: "prices", Timeout: 90 * time.Second, Discard: true},
	}, g.tasks[0])
	for _, body := range []string{`{}`, `{"task":""}`, `{"task":"x","timeout":-1}`, `{"task":"x","cleanup":"burn"}`, `{"task":"x","to":"42"}`} {
		w := call(h, "POST", "/v1/sessions/main/tasks", body)
		require.GreaterOrEqual(t, w.Code, 400, body)
		require.Less(t, w.Code, 500, body)
	}
	require.Equal(t, 404, call(h, "POST", "/v1/sessions/agent:main:none/tasks", `{"task":"x"}`).Code)
	require.Len(t, g.tasks, 1)
}
