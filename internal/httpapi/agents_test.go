package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi"
	"sluice/internal/httpapi/operator"
	"sluice/internal/spending"
	"sluice/policy/flow"
)

// twoAgents are the agents of a configuration.
type twoAgents struct{}

func (twoAgents) Agents(context.Context) ([]operator.Agent, error) {
	return []operator.Agent{{ID: "main", Name: "Main"}, {ID: "night", Name: "Night"}}, nil
}

func (twoAgents) Tools(context.Context, string, flow.Level) ([]operator.AgentTool, error) {
	return nil, nil
}

// dayOfCalls is a ledger with these calls.
type dayOfCalls struct {
	crowded
	calls []spending.CallPoint
}

func (d dayOfCalls) CallsSince(_ context.Context, _ flow.Level, since time.Time, _ int) ([]spending.CallPoint, error) {
	return slices.DeleteFunc(slices.Clone(d.calls), func(c spending.CallPoint) bool { return c.Started.Before(since) }), nil
}

// Agents are listed with what their model calls of the last 24 hours were like, if that is asked for.
func TestAgentsWithTheirCalls(t *testing.T) {
	t.Parallel()
	day := dayOfCalls{calls: []spending.CallPoint{
		{Agent: "main", Started: clock, Failed: true, Latency: time.Hour, Input: 3},
		{Agent: "removed", Started: clock, Latency: time.Hour},
		{Agent: "main", Started: clock.Add(-25 * time.Hour), Latency: time.Hour},
	}}
	for i := range 20 {
		day.calls = append(day.calls, spending.CallPoint{Agent: "main", Started: clock.Add(-time.Hour), Latency: time.Duration(20-i) * time.Second, Input: 10, Output: 2})
	}
	agents := func(rows httpapi.UsageRows, path string) (body string, got struct{ Agents []operator.Agent }) {
		s := newServer(t, newGateway(), func(c *httpapi.Config) { c.Agents, c.Rows.Usage = twoAgents{}, rows })
		t.Cleanup(func() { require.NoError(t, s.Stop(t.Context())) })
		w := call(s.Handler(), "GET", path, "")
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
		return w.Body.String(), got
	}
	body, _ := agents(day, "/v1/agents")
	require.NotContains(t, body, "calls", "only who asks gets them")
	_, got := agents(day, "/v1/agents?calls=true")
	p95, since := int64(19_000), clock.Add(-24*time.Hour).UTC()
	require.Equal(t, &operator.CallDay{Since: since, Calls: 21, Failed: 1, P95: &p95, Input: 203, Output: 40}, got.Agents[0].Calls)
	require.Equal(t, &operator.CallDay{Since: since}, got.Agents[1].Calls)
	body, _ = agents(day, "/v1/agents/main?calls=true")
	require.Contains(t, body, `"p95_ms":19000`)
	_, got = agents(crowded{}, "/v1/agents?calls=true")
	require.Equal(t, clock.UTC(), got.Agents[0].Calls.Since, "of very many calls, the newest count")
	require.Equal(t, 10_000, got.Agents[0].Calls.Calls)
}
