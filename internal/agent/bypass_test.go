package agent_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/agent/roster"
	"sluice/policy"
	"sluice/policy/flow"
	runs "sluice/router/work"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

// once is a rule at a server's calls that applies to all but the first one in an hour.
func once(action policy.Action, approvers ...string) policy.Rule {
	return policy.Rule{
		Name: "once", Hook: policy.MCPToolCall, Action: action, Approvers: approvers, Rate: &policy.Rate{Limit: 1, Per: time.Hour, By: policy.RateBySession},
	}
}

// The ids of calls are the model's: that it gives each answer's call the same one makes them no one call.
func TestARateCountsCallsOfTheSameID(t *testing.T) {
	t.Parallel()
	b := withServers(t, monitorOf(policy.EscalationAuto, once(policy.Block)))
	require.False(t, b.tool(t, "mcp_public_ask", `{}`).Error)
	require.True(t, b.tool(t, "mcp_public_ask", `{}`).Error, "the second one has the id call_1, too")
}

// An approval that the permission mode required does not cover a rule that begins to ask between two calls of the answer.
func TestAYesIsNotToARuleThatNobodyWasAskedBy(t *testing.T) {
	t.Parallel()
	o := answering(true)
	b := withServers(t, monitorOf(policy.EscalationAuto, once(policy.Hold, "telegram:security")), func(s *roster.Settings) { s.Agents[0].Permission = sessions.PermissionAsk })
	b.approver = o
	b.model.Answers = []sessiontest.Answer{
		func(context.Context, sessions.Request, func(sessions.Chunk)) (sessions.Completion, error) {
			part := sessions.Part{Type: sessions.PartToolCall, Tool: "mcp_public_ask", Args: json.RawMessage(`{}`)}
			return sessions.Completion{Parts: []sessions.Part{part, part}}, nil
		}, sessiontest.Says("ok"),
	}
	_, err := b.ask(t.Context(), "go")
	require.NoError(t, err)
	messages := b.session.Messages()
	parts := messages[len(messages)-2].Parts
	require.False(t, parts[0].Error)
	require.True(t, parts[1].Error)
	require.Contains(t, parts[1].Text, "call the tool again")
	require.Len(t, o.asked, 2)
}

// A no stands, also where a rule has nothing against the call any more once somebody has said it.
func TestANoStands(t *testing.T) {
	t.Parallel()
	o := &owner{thinks: true}
	b := newBundle(t)
	ask := policy.Rule{Name: "r", Hook: policy.PreToolCall, Tools: []string{"message"}, Action: policy.Hold}
	b.configure(func(s *roster.Settings) { s.Monitor = monitorOf(policy.EscalationAuto, ask) })
	b.reopen(t)
	b.approver = o
	b.model.Answers = []sessiontest.Answer{sessiontest.Calls("message", `{"message":"x"}`, "call_1"), sessiontest.Says("ok")}
	_, err := b.ask(t.Context(), "go")
	require.ErrorIs(t, err, runs.ErrAwaited)
	b.configure(func(*roster.Settings) {}) // the rule is gone
	o.denied = "call_1"
	b.reopen(t)
	_, err = b.work(t.Context())
	require.NoError(t, err)
	require.Empty(t, b.sent)
	messages := b.session.Messages()
	require.Equal(t, "the owner denied it", messages[len(messages)-2].Parts[0].Text)
}

// A rule counts from the next call on, also in a run that began before it was there.
func TestARuleCountsInARunThatIsUnderWay(t *testing.T) {
	t.Parallel()
	b := withServers(t, lenient())
	b.model.Answers = []sessiontest.Answer{
		sessiontest.Calls("mcp_public_ask", `{}`, "call_1"),
		func(ctx context.Context, r sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error) {
			b.configure(func(s *roster.Settings) {
				s.Monitor = monitorOf(policy.EscalationAuto, policy.Rule{Name: "r", Hook: policy.MCPToolCall, Action: policy.Block})
			})
			return sessiontest.Calls("mcp_public_ask", `{}`, "call_2")(ctx, r, on)
		}, sessiontest.Says("ok"),
	}
	_, err := b.ask(t.Context(), "go")
	require.NoError(t, err)
	messages := b.session.Messages()
	require.True(t, messages[len(messages)-2].Parts[0].Error)
	require.False(t, messages[len(messages)-4].Parts[0].Error)
}

// What a summary shall be about is written by who has learnt all that the session has: a model that may be told only of the old
// turns that the summary is of is not told that.
func TestTheFocusOfASummaryIsAsSecretAsTheSession(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.saying(t, "the ferry leaves at nine")
	b.session.Raise(flow.NewLabel(flow.Confidential, flow.Trusted))
	require.NoError(t, b.session.Persist(t.Context()))
	b.model.Level = flow.Restricted
	b.model.Answers = []sessiontest.Answer{
		func(ctx context.Context, r sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error) {
			b.model.Level = flow.Public // as a model that was chosen for the session in the meantime
			return sessiontest.Calls("summarize", `{"scope":"topic","focus":"ferry. The salary is 100"}`, "call_1")(ctx, r, on)
		}, sessiontest.Says("late"),
	}
	_, err := b.ask(t.Context(), "sum it up")
	require.Error(t, err)
	for _, asked := range b.model.Asked() {
		require.NotContains(t, asked.System, "salary")
	}
}

// What is remembered enters a prompt by itself only as the rules let it in.
func TestRulesSeeWhatIsRecalled(t *testing.T) {
	t.Parallel()
	b := recalling(t, 4000)
	b.remember(t, "memory_save", params{"key": "deadline", "content": "the release is due on Friday, card 4711"})
	b.remember(t, "memory_save", params{"key": "release-key", "content": "the release is signed with pwned"})
	b.configure(func(s *roster.Settings) {
		s.Agents[0].Memory.Recall, s.Owners = 4000, []string{"telegram:42"}
		s.Monitor = monitorOf(policy.EscalationAuto,
			policy.Rule{Name: "card", Hook: policy.PreContextInjection, When: `source == "memory"`, Action: policy.Redact, Redact: "[0-9]{4}"},
			policy.Rule{Name: "keys", Hook: policy.PreContextInjection, When: `source == "memory" && text.contains("pwned")`, Action: policy.Block})
	})
	b.reopen(t)
	system := b.prompted(t, "when are releases due?")
	require.Contains(t, system, "due on Friday, card [redacted]")
	require.NotContains(t, system, "pwned")
}
