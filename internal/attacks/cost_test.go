package attacks_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy"
	"sluice/policy/condition"
	"sluice/policy/flow"
	"sluice/sessions"
)

// costRow is the time that the checks add to one call, or to one delivery.
type costRow struct {
	What     string
	Rules, N int
	P50, P99 time.Duration
}

// idleHeap is about what an idle gateway holds, in bytes (docs/benchmarks.md): with less, the collector runs far more often than in one.
const idleHeap = 32 << 20

// The checks are cheap beside everything else that a call does.
func TestCostOfTheChecks(t *testing.T) {
	held := make([]byte, idleHeap)
	defer runtime.KeepAlive(held)
	var rows []costRow
	for _, n := range []int{0, 10} {
		rules := tenRules(t, n)
		m, err := policy.NewMonitor(policy.MonitorConfig{Rules: rules, Escalation: policy.EscalationAuto, SinkLevel: func(sessions.Route) flow.Level { return flow.Public }, Now: time.Now})
		require.NoError(t, err)
		c := policy.Call{MonitoredCall: sessions.MonitoredCall{
			Record: group(), Args: json.RawMessage(`{"sessionKey":"agent:main:main","limit":20,"message":"what is there to be said about the weather?"}`),
			Tool: sessions.Tool{Spec: sessions.ToolSpec{Name: "sessions_send"}, Flow: sessions.ToolFlow{Reads: sessions.FlowSession, Writes: sessions.FlowAgent}},
		}, Route: sessions.Route{Channel: "telegram", Conversation: "1"}}
		response := sessions.Response{Text: "a result of a tool", Label: flow.Bottom()}
		rows = append(rows, timed("a tool call", n, func() {
			m.Ask(c, true)
			m.Answer(c, response)
		}))
		g := policy.NewGate(map[string]policy.Sink{"telegram": {Level: flow.Internal}}, nil, rules)
		e := policy.Egress{Route: c.Route, Label: flow.Bottom(), Text: "an answer of a few words", Kind: "reply", Now: time.Now(), Effects: true}
		rows = append(rows, timed("a delivery", n, func() { g.Decide(e) }))
	}
	for _, r := range rows {
		t.Logf("%s, %d rules: p50 %s, p99 %s", r.What, r.Rules, r.P50, r.P99)
	}
	keep(t, "cost.json", rows)
}

// timed measures this many calls, one by one.
func timed(what string, rules int, do func()) costRow {
	const n = 20_000
	all := make([]time.Duration, n)
	for i := range all {
		begun := time.Now()
		do()
		all[i] = time.Since(begun)
	}
	slices.Sort(all)
	return costRow{what, rules, n, all[n/2], all[n*99/100]}
}

// tenRules are rules on tool calls and texts that have to be evaluated and do not apply.
func tenRules(t *testing.T, n int) *policy.Rules {
	t.Helper()
	var rules []policy.Rule
	for i := range n {
		hook := []policy.Hook{policy.PreToolCall, policy.PreOutput}[i%2]
		rules = append(rules, policy.Rule{Name: fmt.Sprintf("rule-%d", i), Hook: hook, Action: policy.Block, When: `session.level >= INTERNAL && session.channel == "slack"`})
	}
	set, err := condition.NewRules(rules)
	require.NoError(t, err)
	return set
}
