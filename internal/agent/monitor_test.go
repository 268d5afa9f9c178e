package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/internal/agent/roster"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

// server is an outside tool of a level that says back what it was told.
func server(name string, level flow.Level) sessions.Tool {
	return sessions.Tool{
		Spec: sessions.ToolSpec{Name: name, Description: "far away", Parameters: json.RawMessage(`{"type":"object"}`)},
		Flow: sessions.ToolFlow{
			Reads: sessions.FlowOutside, Writes: sessions.FlowOutside, Source: flow.NewLabel(level, flow.Trusted), Sink: level, Setting: "mcp.servers." + name + ".classification",
		},
		Remote: &sessions.RemoteTool{Server: name, Name: "ask"},
		Run: func(_ context.Context, _ sessions.Caller, args json.RawMessage) (sessions.ToolResult, error) {
			return sessions.ToolResult{Text: "told " + string(args), Label: flow.NewLabel(level, flow.Trusted)}, nil
		},
	}
}

func withServers(t *testing.T, m *policy.Monitor, change ...func(*roster.Settings)) *bundle {
	t.Helper()
	b := newBundle(t)
	for _, l := range flow.Levels() {
		b.remote = append(b.remote, server("mcp_"+strings.ToLower(l.String())+"_ask", l))
	}
	b.configure(func(s *roster.Settings) {
		s.Monitor = m
		for _, c := range change {
			c(s)
		}
	})
	b.reopen(t)
	return b
}

// Two calls of one answer: what the first brings in decides about the second, which was harmless when the model wrote it.
func TestEachCallIsJudgedByWhatIsLearntByThen(t *testing.T) {
	t.Parallel()
	b := withServers(t, lenient())
	b.model.Answers = []sessiontest.Answer{
		func(context.Context, sessions.Request, func(sessions.Chunk)) (sessions.Completion, error) {
			return sessions.Completion{Parts: []sessions.Part{
				{Type: sessions.PartToolCall, CallID: "call_1", Tool: "mcp_confidential_ask", Args: json.RawMessage(`{}`)},
				{Type: sessions.PartToolCall, CallID: "call_2", Tool: "mcp_public_ask", Args: json.RawMessage(`{"q":"the salary"}`)},
			}}, nil
		}, sessiontest.Says("ok"),
	}
	_, err := b.ask(t.Context(), "go")
	require.NoError(t, err)
	messages := b.session.Messages()
	parts := messages[len(messages)-2].Parts
	require.Len(t, parts, 2)
	require.False(t, parts[0].Error)
	require.True(t, parts[1].Error)
	require.Contains(t, parts[1].Text, "mcp.servers.mcp_public_ask.classification")
	require.Equal(t, flow.Confidential, b.session.Taint().Level())
}

// What raises a session above its conversation waits for an owner, also where that shows only between two calls of an answer.
func TestConsentIsAskedWhenItIsNeeded(t *testing.T) {
	t.Parallel()
	b := withServers(t, monitorOf(policy.EscalationAsk))
	o := &owner{decides: func(c sessions.Part) sessions.Confirmation {
		return sessions.Confirmation{CallID: c.CallID, Approved: true}
	}}
	b.approver = o
	require.False(t, b.tool(t, "mcp_internal_ask", `{}`).Error)
	require.Equal(t, []string{"mcp_internal_ask"}, o.asked)
	require.Equal(t, []string{policy.RuleEscalation}, o.rules, "who decides can be told what asks")
	require.False(t, b.tool(t, "mcp_internal_ask", `{}`).Error)
	require.Len(t, o.asked, 1, "the session is there already")
	o.decides = func(c sessions.Part) sessions.Confirmation {
		return sessions.Confirmation{CallID: c.CallID, Reason: "the owner denied it"}
	}
	part := b.tool(t, "mcp_confidential_ask", `{}`)
	require.True(t, part.Error)
	require.Equal(t, flow.Internal, b.session.Taint().Level())

	deny := withServers(t, monitorOf(policy.EscalationDeny))
	part = deny.tool(t, "mcp_internal_ask", `{}`)
	require.True(t, part.Error)
	require.Equal(t, flow.Public, deny.session.Taint().Level())
}

// Each decision is stored with what it was about, with every rule that was looked at.
func TestDecisionsAreRecorded(t *testing.T) {
	t.Parallel()
	b := withServers(t, monitorOf(policy.EscalationAuto, policy.Rule{Name: "quiet", Hook: policy.PreToolCall, Tools: []string{"mcp_public_*"}, Action: policy.Block, Message: "not today"}))
	require.Equal(t, "refused: not today", b.tool(t, "mcp_public_ask", `{}`).Text)
	b.tool(t, "mcp_internal_ask", `{}`)
	require.NoError(t, b.session.Persist(t.Context()))
	var actions []string
	for _, e := range b.store.Audit() {
		actions = append(actions, e.Action+" "+e.Object)
		text, err := json.Marshal(e.Detail)
		require.NoError(t, err)
		require.Contains(t, string(text), `"decision"`)
		if e.Action == "tool.block" {
			require.Contains(t, string(text), "policy.rules.quiet")
		}
	}
	require.Equal(t, []string{"tool.block mcp_public_ask", "tool.allow mcp_internal_ask", "response.allow mcp_internal_ask"}, actions)
}

// The operator is told what the caller was not: that there is such a session, and why it is hidden.
func TestOperatorIsToldWhatIsHidden(t *testing.T) {
	t.Parallel()
	b := withServers(t, lenient(), func(s *roster.Settings) { s.Visibility = roster.VisibleAll })
	secret := b.record("agent:other:main", flow.NewLabel(flow.Confidential, flow.Trusted))
	absent := b.tool(t, "sessions_history", `{"sessionKey":"agent:other:nobody"}`)
	hidden := b.tool(t, "sessions_history", `{"sessionKey":"agent:other:main"}`)
	require.Equal(t, strings.ReplaceAll(absent.Text, "nobody", "main"), hidden.Text)
	require.NoError(t, b.session.Persist(t.Context()))
	i := slices.IndexFunc(b.store.Audit(), func(e sessions.AuditEntry) bool { return e.Action == "sessions.see.denied" })
	require.GreaterOrEqual(t, i, 0)
	entry := b.store.Audit()[i]
	require.Equal(t, string(secret.ID), entry.Object)
	require.Equal(t, flow.Confidential, entry.Label.Level(), "who may not know of it doesn't read it in the trail either")
	require.Contains(t, fmt.Sprint(entry.Detail), "above what the caller has learned")
}

// outcome is what a real call came to, in the words of a simulation.
func (b *bundle) outcome(t *testing.T, o *owner, name, args string) string {
	t.Helper()
	o.asked = nil
	part := b.tool(t, name, args)
	switch {
	case len(o.asked) > 0:
		return "REQUIRE_APPROVAL"
	case part.Error, strings.Contains(part.Text, `"status":"blocked"`):
		return "BLOCK"
	case strings.Contains(part.Text, "[redacted]"):
		return "REDACT"
	}
	return "ALLOW"
}

// What a simulation says is what the call then comes to, for random calls under random policies.
func TestSimulationAgreesWithReality(t *testing.T) {
	t.Parallel()
	calls := [][2]string{
		{"todo_list", `{}`},
		{"todo_add", `{"items":["x"]}`},
		{"sessions_history", `{"sessionKey":"agent:other:main"}`},
		{"session_status", `{"sessionKey":"agent:other:nobody"}`},
		{"sessions_send", `{"sessionKey":"agent:other:main","message":"hi","timeoutSeconds":0}`},
		{"sessions_send", `{"sessionKey":"agent:other:low","message":"hi","timeoutSeconds":0}`},
		{"sessions_spawn", `{"task":"count"}`},
		{"sessions_spawn", `{"task":"count","agentId":"other"}`},
		{"message", `{"message":"hi"}`},
		{"message", `{"message":"hi","to":"forbidden"}`},
		{"message", `{"message":"hi","to":"elsewhere"}`},
		{"no_such_tool", `{}`},
	}
	for _, l := range flow.Levels() {
		name := "mcp_" + strings.ToLower(l.String()) + "_ask"
		calls = append(calls, [2]string{name, `{}`}, [2]string{name, `{"q":"pin 1234"}`})
	}
	seen := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		var rules []policy.Rule
		for i := range rapid.IntRange(0, 3).Draw(rt, "rules") {
			r := policy.Rule{
				Name: string(rune('a' + i)), Hook: rapid.SampledFrom([]policy.Hook{policy.PreToolCall, policy.MCPToolCall, policy.AgentInvocation}).Draw(rt, "hook"),
				Action: rapid.SampledFrom([]policy.Action{policy.Block, policy.Hold, policy.Redact}).Draw(rt, "action"),
				Tools:  rapid.SampledFrom([][]string{nil, {"mcp_*"}, {"sessions_*"}, {"message"}}).Draw(rt, "tools"),
				When:   rapid.SampledFrom([]string{"", "session.level > PUBLIC", "session.owner", `agent.to.contains("low")`, "tool.sink == INTERNAL"}).Draw(rt, "when"),
			}
			if r.Action == policy.Redact {
				r.Redact = `\d{4}`
			}
			rules = append(rules, r)
		}
		m := monitorOf(rapid.SampledFrom([]policy.Escalation{policy.EscalationAsk, policy.EscalationAuto, policy.EscalationDeny}).Draw(rt, "escalation"), rules...)
		mode := rapid.SampledFrom([]sessions.PermissionMode{sessions.PermissionAuto, sessions.PermissionAuto, sessions.PermissionAsk, sessions.PermissionDeny}).Draw(rt, "permission")
		b := withServers(t, m, func(s *roster.Settings) {
			s.Visibility, s.Agents[0].Permission = roster.VisibleAll, mode
			s.AgentToAgent = roster.AgentToAgent{Enabled: rapid.Bool().Draw(rt, "agents talk")}
		})
		o := &owner{decides: func(c sessions.Part) sessions.Confirmation {
			return sessions.Confirmation{CallID: c.CallID, Reason: "no"}
		}}
		b.approver = o
		level := rapid.SampledFrom(flow.Levels())
		b.record("agent:other:main", flow.NewLabel(level.Draw(rt, "other"), flow.Trusted))
		b.record("agent:other:low", flow.Bottom())
		taint := flow.NewLabel(level.Draw(rt, "taint"), rapid.SampledFrom([]flow.Trust{flow.Trusted, flow.Untrusted}).Draw(rt, "trust"))
		b.as(t, b.record("agent:main:main", taint), rapid.Bool().Draw(rt, "owner"))
		call := rapid.SampledFrom(calls).Draw(rt, "call")

		text := b.tool(t, "simulate_tool_call", fmt.Sprintf(`{"tool_name":%q,"args":%s}`, call[0], call[1])).Text
		if strings.HasPrefix(text, "refused:") || strings.Contains(text, "not approved") || len(o.asked) > 0 {
			return // a rule is about the simulation itself
		}
		var s policy.Simulation
		require.NoError(rt, json.Unmarshal([]byte(text), &s), text)
		require.Empty(rt, b.sent, "a simulation has no effects")
		require.Empty(rt, b.asked)
		got := b.outcome(t, o, call[0], call[1])
		if got == "ALLOW" && s.Decision == "REDACT" {
			got = "REDACT" // there was nothing to take out
		}
		require.Equal(rt, s.Decision, got, "%v: %s", call, s.Reason)
		seen[got]++
		if got == "ALLOW" || got == "REDACT" {
			require.Equal(rt, b.session.Taint().Level(), s.ResultingLevel)
		}
	})
	require.GreaterOrEqual(t, len(seen), 3, "the outcomes have come up: %v", seen)
}

// A rule that takes something out of every tool's arguments takes nothing out of those of a simulation: they are only judged there,
// and what is said of them is what becomes of the real call.
func TestSimulationJudgesArgumentsAsWritten(t *testing.T) {
	t.Parallel()
	for _, tools := range [][]string{nil, {"simulate_*", "mcp_*"}} {
		b := withServers(t, monitorOf(policy.EscalationAuto, policy.Rule{Name: "pins", Hook: policy.PreToolCall, Tools: tools, Action: policy.Redact, Redact: `\d{4}`}))
		var s policy.Simulation
		text := b.tool(t, "simulate_tool_call", `{"tool_name":"mcp_public_ask","args":{"q":"pin 1234"}}`).Text
		require.NoError(t, json.Unmarshal([]byte(text), &s), text)
		require.Equal(t, "REDACT", s.Decision, s.Reason)
		require.Equal(t, "REDACT", b.outcome(t, &owner{}, "mcp_public_ask", `{"q":"pin 1234"}`))
		require.NoError(t, b.session.Persist(t.Context()))
		require.Equal(t, "tool.allow", b.store.Audit()[0].Action, "the record doesn't say that something was taken out")
	}
}

// Files with a level of their own raise who reads them, and take nothing from who has learnt more.
func TestFilesWithALevel(t *testing.T) {
	t.Parallel()
	b, _ := withFiles(t, everything, func(d *roster.Definition) { d.FileLevel = flow.Confidential })
	require.False(t, b.tool(t, "write", `{"path":"a","content":"x"}`).Error)
	require.Equal(t, flow.Confidential, b.session.Taint().Level(), "what a write says of the folder counts as read")
	r := b.session.Record()
	b.session.Raise(flow.NewLabel(flow.Restricted, flow.Trusted))
	part := b.tool(t, "write", `{"path":"b","content":"x"}`)
	require.True(t, part.Error)
	require.Contains(t, part.Text, "agents.list[].workspaceClassification")
	require.False(t, b.tool(t, "read", `{"path":"a"}`).Error)
	require.Equal(t, flow.Confidential, b.roster.FileLevel(r))
}
