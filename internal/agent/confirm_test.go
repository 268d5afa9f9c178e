package agent_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/agent"
	"sluice/router"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

// owner decides about calls; while it thinks, they wait.
type owner struct {
	thinks  bool
	decides func(call sessions.Part) sessions.Confirmation
	asked   []string
	message sessions.MessageID
}

func (o *owner) Decide(_ context.Context, message sessions.MessageID, calls []sessions.CallToConfirm) ([]sessions.Confirmation, error) {
	o.message = message
	if o.thinks {
		return nil, router.ErrAwaited
	}
	var decided []sessions.Confirmation
	for _, c := range calls {
		o.asked = append(o.asked, c.Tool)
		decided = append(decided, o.decides(c.Part))
	}
	return decided, nil
}

// askingBundle is a bundle whose agent needs an owner's word.
func askingBundle(t *testing.T, mode sessions.PermissionMode, o *owner) *bundle {
	t.Helper()
	b, _ := withFiles(t, everything, func(d *agent.Definition) { d.Permission = mode })
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

// While a decision is awaited the run is laid aside; whoever goes on with it, in
// another process, runs the call once, and asks no model in between.
func TestAnAwaitedCallRunsLater(t *testing.T) {
	t.Parallel()
	o := &owner{thinks: true, decides: func(c sessions.Part) sessions.Confirmation {
		return sessions.Confirmation{CallID: c.CallID, Approved: true}
	}}
	b := askingBundle(t, sessions.PermissionAsk, o)
	b.model.Answers = []sessiontest.Answer{sessiontest.Calls("write", `{"path":"a","content":"x"}`, "call_1"), sessiontest.Says("written")}
	_, err := b.ask(t.Context(), "write it")
	require.ErrorIs(t, err, router.ErrAwaited)
	message := o.message
	for range 3 {
		b.reopen(t)
		_, err = b.work(t.Context())
		require.ErrorIs(t, err, router.ErrAwaited)
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
