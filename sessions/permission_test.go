package sessions_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

// askBoth is a session whose model asks for a tool that reads, one that writes and one that is not there.
func askBoth(t *testing.T, mode sessions.PermissionMode) *bundle {
	t.Helper()
	b := newBundle(t, func(context.Context, sessions.Request, func(sessions.Chunk)) (sessions.Completion, error) {
		var c sessions.Completion
		for _, tool := range []string{"read", "write", "none"} {
			c.Parts = append(c.Parts, sessions.Part{Type: sessions.PartToolCall, CallID: tool, Tool: tool})
		}
		return c, nil
	}, sessiontest.Says("done"))
	tool := func(name string, writes sessions.FlowEnd) sessions.Tool {
		return sessions.Tool{
			Spec: sessions.ToolSpec{Name: name}, Flow: sessions.ToolFlow{Reads: sessions.FlowSession, Writes: writes},
			Run: func(_ context.Context, caller sessions.Caller, _ json.RawMessage) (sessions.ToolResult, error) {
				b.ran = append(b.ran, caller.CallID)
				return sessions.ToolResult{Text: "ok", Label: caller.Taint}, nil
			},
		}
	}
	b.SetAgent(sessions.Agent{ID: "main", Tools: []sessions.Tool{tool("read", sessions.FlowNone), tool("write", sessions.FlowSession)}})
	require.NoError(t, b.SetPermission(mode))
	b.Append(user("do both"))
	_, err := step(t.Context(), b.Session)
	require.NoError(t, err)
	return b
}

func TestPermissionModes(t *testing.T) {
	t.Parallel()
	approve := []sessions.Confirmation{{CallID: "write", Approved: true}}
	refuse := []sessions.Confirmation{{CallID: "write", Reason: "not on a Sunday"}, {CallID: "read", Reason: "nor this"}}
	for name, c := range map[string]struct {
		mode          sessions.PermissionMode
		asked         []string
		confirmations []sessions.Confirmation
		ran           []string
		says          map[string]string // results by call
		fails         string
	}{
		"ask without a word": {mode: sessions.PermissionAsk, asked: []string{"write"}, fails: `"write" (write) is not confirmed`},
		"ask, approved":      {mode: sessions.PermissionAsk, asked: []string{"write"}, confirmations: approve, ran: []string{"read", "write"}},
		"ask, refused": {
			mode: sessions.PermissionAsk, asked: []string{"write"}, confirmations: refuse,
			says: map[string]string{"write": "not on a Sunday", "read": "nor this"},
		},
		"auto":          {mode: sessions.PermissionAuto, ran: []string{"read", "write"}},
		"auto, refused": {mode: sessions.PermissionAuto, confirmations: refuse, says: map[string]string{"write": "not on a Sunday"}},
		"deny": {
			mode: sessions.PermissionDeny, ran: []string{"read"},
			says: map[string]string{"write": "refused: the session's permission mode is deny, only tools that read may be used"},
		},
		"deny, approved": {mode: sessions.PermissionDeny, confirmations: approve, ran: []string{"read"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := askBoth(t, c.mode)
			var asked []string
			calls, err := b.CallsToConfirm(t.Context())
			require.NoError(t, err)
			for _, call := range calls {
				asked = append(asked, call.CallID)
			}
			require.Equal(t, c.asked, asked)
			_, err = b.ConfirmAndExecuteTools(t.Context(), sessions.Caller{}, c.confirmations)
			if c.fails != "" {
				require.ErrorContains(t, err, c.fails)
				require.Empty(t, b.ran)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.ran, b.ran)
			for _, p := range b.Last().Parts {
				if want := c.says[p.CallID]; want != "" {
					require.Equal(t, want, p.Text)
					require.True(t, p.Error)
				}
			}
			require.Contains(t, b.Last().Parts[2].Text, `there is no tool "none"`)
			calls, err = b.CallsToConfirm(t.Context())
			require.NoError(t, err)
			require.Nil(t, calls)
			_, err = step(t.Context(), b.Session)
			require.NoError(t, err)
			asked2 := b.model.Asked()
			require.Equal(t, b.Messages()[2], asked2[len(asked2)-1].Messages[2], "the model sees the reasons")
		})
	}
}

func TestPermissionOfANewSession(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	require.Equal(t, sessions.PermissionAsk, b.Permission(), "a new session asks")
	require.ErrorContains(t, b.SetPermission("everything"), "want one of [deny ask auto]")
	require.Equal(t, sessions.PermissionAsk, b.Permission())
}
