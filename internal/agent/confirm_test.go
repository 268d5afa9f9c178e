package agent_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/agent/roster"
	"sluice/internal/spending"
	"sluice/policy"
	runs "sluice/router/work"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

// owner decides about calls; while it thinks, they wait.
type owner struct {
	thinks  bool
	decides func(call sessions.Part) sessions.Confirmation
	asked   []string
	rules   []string // of the last call
	message sessions.MessageID
	denied  string              // the call that was denied before
	short   []*spending.Reached // budgets that it was asked to raise
	refuses string              // with this sentence
}

// Raise implements [runs.Approver].
func (o *owner) Raise(_ context.Context, reached *spending.Reached) (string, error) {
	o.short = append(o.short, reached)
	if o.thinks {
		return "", runs.ErrAwaited
	}
	return o.refuses, nil
}

func (o *owner) Decide(_ context.Context, message sessions.MessageID, calls []sessions.CallToConfirm) ([]sessions.Confirmation, error) {
	o.message = message
	if o.thinks {
		return nil, runs.ErrAwaited
	}
	var decided []sessions.Confirmation
	for _, c := range calls {
		o.asked, o.rules = append(o.asked, c.Tool), c.Terms.Rules
		decided = append(decided, o.decides(c.Part))
	}
	return decided, nil
}

// Denied implements [runs.Approver].
func (o *owner) Denied(_ context.Context, _ sessions.MessageID, calls []sessions.Part) (denied []sessions.Confirmation, _ error) {
	for _, c := range calls {
		if o.denied == c.CallID {
			denied = append(denied, sessions.Confirmation{CallID: c.CallID, Reason: "the owner denied it"})
		}
	}
	return denied, nil
}

// askingBundle is a bundle whose agent needs an owner's word.
func askingBundle(t *testing.T, mode sessions.PermissionMode, o *owner) *bundle {
	t.Helper()
	b, _ := withFiles(t, everything, func(d *roster.Definition) { d.Permission = mode })
	b.approver = o
	return b
}

func TestOnlyCallsThatChangeSomethingAreAskedAbout(t *testing.T) {
	t.Parallel()
	o := &owner{decides: func(c sessions.Part) sessions.Confirmation {
		return sessions.Confirmation{CallID: c.CallID, Approved: true}
	}}
	b := askingBundle(t, sessions.PermissionAsk, o)
	require.False(t, b.tool(t, "list", `{}`).Error)
	require.Empty(t, o.asked)
	require.False(t, b.tool(t, "write", `{"path":"a","content":"x"}`).Error)
	require.Equal(t, []string{"write"}, o.asked)
	o.decides = func(c sessions.Part) sessions.Confirmation {
		return sessions.Confirmation{CallID: c.CallID, Reason: "the owner denied it: not today"}
	}
	part := b.tool(t, "write", `{"path":"b","content":"x"}`)
	require.True(t, part.Error)
	require.Equal(t, "the owner denied it: not today", part.Text)
	require.Equal(t, "x", b.tool(t, "read", `{"path":"a"}`).Text)
	require.True(t, b.tool(t, "read", `{"path":"b"}`).Error)
}

func TestModesWithoutAQuestion(t *testing.T) {
	t.Parallel()
	auto := askingBundle(t, "", nil)
	require.False(t, auto.tool(t, "write", `{"path":"a","content":"x"}`).Error)
	deny := askingBundle(t, sessions.PermissionDeny, &owner{})
	require.Contains(t, deny.tool(t, "write", `{"path":"a","content":"x"}`).Text, "permission mode is deny")
	require.False(t, deny.tool(t, "list", `{}`).Error)
}

// While a decision is pending the run is suspended. The worker that continues it, in
// another process, runs the call once, and asks no model in between.
func TestAnAwaitedCallRunsLater(t *testing.T) {
	t.Parallel()
	o := &owner{thinks: true, decides: func(c sessions.Part) sessions.Confirmation {
		return sessions.Confirmation{CallID: c.CallID, Approved: true}
	}}
	b := askingBundle(t, sessions.PermissionAsk, o)
	b.model.Answers = []sessiontest.Answer{sessiontest.Calls("write", `{"path":"a","content":"x"}`, "call_1"), sessiontest.Says("written")}
	_, err := b.ask(t.Context(), "write it")
	require.ErrorIs(t, err, runs.ErrAwaited)
	message := o.message
	for range 3 {
		b.reopen(t)
		_, err = b.work(t.Context())
		require.ErrorIs(t, err, runs.ErrAwaited)
		require.Equal(t, message, o.message)
	}
	require.Len(t, b.model.Asked(), 1)
	o.thinks = false
	b.reopen(t)
	answer, err := b.work(t.Context())
	require.NoError(t, err)
	require.Equal(t, "written", answer.Text)
	require.Equal(t, []string{"write"}, o.asked)
	require.Equal(t, "x", b.tool(t, "read", `{"path":"a"}`).Text)
}

// While one call of an answer waits for its decision, what stands before it is done and what stands behind it waits with
// it. Neither is taken for interrupted when the run is continued.
func TestCallsBesideAnAwaitedOneRunOnce(t *testing.T) {
	t.Parallel()
	for name, yes := range map[string]bool{"allowed": true, "denied": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ran []string
			b := newBundle(t)
			for _, tool := range []string{"mcp_far_a", "mcp_far_b", "mcp_far_c"} {
				b.remote = append(b.remote, remote(tool, func() (sessions.ToolResult, error) {
					ran = append(ran, tool)
					return says(tool)()
				}))
			}
			b.configure(func(s *roster.Settings) {
				s.Monitor = monitorOf(policy.EscalationAuto, policy.Rule{Name: "b", Hook: policy.PreToolCall, Tools: []string{"mcp_far_b"}, Action: policy.Hold})
			})
			o := &owner{thinks: true, decides: func(c sessions.Part) sessions.Confirmation {
				return sessions.Confirmation{CallID: c.CallID, Approved: yes, Reason: "the owner denied it"}
			}}
			b.approver = o
			b.reopen(t)
			b.model.Answers = []sessiontest.Answer{
				func(context.Context, sessions.Request, func(sessions.Chunk)) (sessions.Completion, error) {
					return sessions.Completion{Parts: []sessions.Part{
						{Type: sessions.PartToolCall, CallID: "call_1", Tool: "mcp_far_a"},
						{Type: sessions.PartToolCall, CallID: "call_2", Tool: "mcp_far_b"},
						{Type: sessions.PartToolCall, CallID: "call_3", Tool: "mcp_far_c"},
					}}, nil
				}, sessiontest.Says("done"),
			}
			_, err := b.ask(t.Context(), "all three")
			require.ErrorIs(t, err, runs.ErrAwaited)
			for range 2 {
				b.reopen(t)
				_, err = b.work(t.Context())
				require.ErrorIs(t, err, runs.ErrAwaited)
			}
			require.Equal(t, []string{"mcp_far_a"}, ran)
			o.thinks = false
			b.reopen(t)
			_, err = b.work(t.Context())
			require.NoError(t, err)
			messages := b.session.Messages()
			results := messages[len(messages)-2].Parts
			require.Len(t, results, 3)
			require.Equal(t, "mcp_far_a", results[0].Text)
			require.Equal(t, "mcp_far_c", results[2].Text)
			if yes {
				require.Equal(t, []string{"mcp_far_a", "mcp_far_b", "mcp_far_c"}, ran)
			} else {
				require.Equal(t, []string{"mcp_far_a", "mcp_far_c"}, ran)
				require.Equal(t, "the owner denied it", results[1].Text)
			}
		})
	}
}
