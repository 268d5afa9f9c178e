package agent_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/agent/roster"
	"sluice/policy"
	"sluice/policy/flow"
	runs "sluice/router/work"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

// offering is a bundle whose client offers a function.
func offering(t *testing.T, level flow.Level, rules ...policy.Rule) *bundle {
	t.Helper()
	b := newBundle(t)
	b.configure(func(s *roster.Settings) { s.Monitor = monitorOf(policy.EscalationAuto, rules...) })
	b.reopen(t)
	b.run.Input.Functions = []sessions.Function{{
		Name: "weather", Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`), Level: level,
	}}
	return b
}

// looked are the messages of a run that has called the client's function, up to the given part of them.
func looked(b *bundle, messages int) {
	b.session.Append([]sessions.Message{
		{Role: sessions.RoleUser, Run: b.run.ID, Parts: []sessions.Part{sessions.TextPart("go", flow.Bottom())}},
		{Role: sessions.RoleAssistant, Run: b.run.ID, Model: "test/scripted", Parts: []sessions.Part{
			sessions.TextPart("Let me look.", flow.Bottom()),
			{Type: sessions.PartToolCall, CallID: "a", Tool: "weather", Args: json.RawMessage(`{"city":"Paris"}`), Label: flow.Bottom()},
			{Type: sessions.PartToolCall, CallID: "b", Tool: "session_status", Label: flow.Bottom()},
		}},
		{Role: sessions.RoleToolResult, Run: b.run.ID, Parts: []sessions.Part{
			{Type: sessions.PartToolResult, CallID: "a", Tool: "weather", Text: "later", Label: flow.Bottom()},
			{Type: sessions.PartToolResult, CallID: "b", Tool: "session_status", Text: "well", Label: flow.Bottom()},
		}},
	}[:messages]...)
}

// A run ends with its calls, also if its process died: before the calls had results, and after.
func TestARunEndsWithItsCallsAfterACrash(t *testing.T) {
	t.Parallel()
	var ended []runs.Answer
	for _, stored := range []int{1, 2, 3} {
		b := offering(t, flow.Public)
		b.run.ID = "run_00000000000000000000000000000001"
		looked(b, stored)
		require.NoError(t, b.session.Persist(t.Context()))
		b.reopen(t)
		if stored == 1 {
			b.model.Answers = []sessiontest.Answer{sessiontest.Calls("weather", `{"city":"Paris"}`, "a")}
		}
		answer, err := b.work(t.Context())
		require.NoError(t, err)
		require.Len(t, answer.Calls, 1)
		require.Equal(t, "weather", answer.Calls[0].Name)
		require.JSONEq(t, `{"city":"Paris"}`, string(answer.Calls[0].Args))
		require.Len(t, b.model.Asked(), 2-min(stored, 2), "a stored answer is not asked for again")
		if stored > 1 {
			ended = append(ended, answer)
		}
		for _, tool := range b.session.Tools() {
			require.NotEqual(t, "weather", tool.Spec.Name, "the function goes with its run")
		}
	}
	require.Equal(t, "Let me look.", ended[0].Text)
	require.Equal(t, ended[0].Calls, ended[1].Calls, "a call keeps its id")
}

// What a rule forbids by now is not handed over after a crash. Arguments that a rule redacts are redacted then, too.
func TestACallIsJudgedAgainAfterACrash(t *testing.T) {
	t.Parallel()
	b := offering(t, flow.Public, policy.Rule{Name: "no", Hook: policy.PreToolCall, When: `tool.name == "weather"`, Action: policy.Block})
	looked(b, 3)
	require.NoError(t, b.session.Persist(t.Context()))
	b.reopen(t)
	_, err := b.work(t.Context())
	var why *sessions.WorkError
	require.ErrorAs(t, err, &why)
	require.Contains(t, why.Public, "I was interrupted")

	b = offering(t, flow.Public, policy.Rule{Name: "names", Hook: policy.PreToolCall, When: `tool.name == "weather"`, Action: policy.Redact, Redact: "Paris"})
	looked(b, 3)
	require.NoError(t, b.session.Persist(t.Context()))
	b.reopen(t)
	answer, err := b.work(t.Context())
	require.NoError(t, err)
	require.JSONEq(t, `{"city":"[redacted]"}`, string(answer.Calls[0].Args))
}

// A function gets what its client may know, and no more. The agent is told why its call did not run.
func TestAFunctionHasALevel(t *testing.T) {
	t.Parallel()
	b := offering(t, flow.Public)
	b.as(t, b.record("agent:main:secret", flow.NewLabel(flow.Confidential, flow.Trusted)), true)
	b.model.Answers = []sessiontest.Answer{sessiontest.Calls("weather", `{"city":"Paris"}`, "a"), sessiontest.Says("I may not ask.")}
	answer, err := b.ask(t.Context(), "weather?")
	require.NoError(t, err)
	require.Equal(t, "I may not ask.", answer.Text)
	require.Empty(t, answer.Calls)
	messages := b.session.Messages()
	require.Contains(t, messages[len(messages)-2].Parts[0].Text, "the classification of the client's token in gateway.tokens")
}

// A call that waits for an owner ends the run once it is allowed, and only then.
func TestACallOfAFunctionWaitsForAnOwner(t *testing.T) {
	t.Parallel()
	o := &owner{thinks: true, decides: func(c sessions.Part) sessions.Confirmation {
		return sessions.Confirmation{CallID: c.CallID, Approved: true}
	}}
	b := offering(t, flow.Public, policy.Rule{Name: "ask", Hook: policy.PreToolCall, When: `tool.name == "weather"`, Action: policy.Hold})
	b.approver = o
	b.model.Answers = []sessiontest.Answer{sessiontest.Calls("weather", `{"city":"Paris"}`, "a")}
	_, err := b.ask(t.Context(), "weather?")
	require.ErrorIs(t, err, runs.ErrAwaited)
	o.thinks = false
	b.reopen(t)
	answer, err := b.work(t.Context())
	require.NoError(t, err)
	require.Len(t, answer.Calls, 1)
	require.Equal(t, []string{"weather"}, o.asked)
	require.Len(t, b.model.Asked(), 1)
}
