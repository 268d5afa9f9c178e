package agent_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/announce"
	"sluice/internal/agent/roster"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// guestInMain is a run in the main session, which its owner has used for long, on words of somebody who is let in.
func guestInMain(t *testing.T) *bundle {
	t.Helper()
	b := newBundle(t)
	_, err := b.ask(t.Context(), "the launch is on friday")
	require.Error(t, err, "the model has no answer, and what was said is kept")
	child := b.stored(sessions.Record{ID: sessions.NewID(), Key: "agent:main:subagent:1", Agent: "main", Title: flow.NewText("the launch", flow.Bottom()), Taint: flow.Bottom(), SpawnedBy: b.run.Session, LastActivity: start})
	b.record(group, flow.Bottom())
	task := ledger.Exchange{Label: flow.Bottom()}
	task.ID, task.Kind, task.Phase, task.Name = "xch_1", announce.Spawn, announce.Asking, "the launch"
	task.Requester = announce.Party{Session: b.run.Session, Key: "agent:main:main", Agent: "main"}
	task.Target = announce.Party{Session: child.ID, Key: child.Key, Agent: "main"}
	b.store.listed = []ledger.Exchange{task}
	b.reopen(t)
	b.store.records[0] = b.session.Record()
	b.run.ID, b.run.Input.Owner = sessions.NewRunID(), false
	b.run.Input.Sender.ID = "eve"
	return b
}

// The right to look around is that of who speaks. The same calls show the owner what they hide from a guest.
func TestAGuestInTheMainSessionSeesNothingOfItsOwners(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]string{
		"sessions_list":    `{"messageLimit":20}`,
		"session_status":   `{}`,
		"sessions_history": `{"sessionKey":"main","includeTools":true}`,
		"summarize":        `{}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := guestInMain(t)
			require.NotContains(t, b.tool(t, name, args).Text, "launch")
			if name != "summarize" { // its model, a script, says nothing of what it was given
				b.run.Input.Owner = true
				require.Contains(t, b.tool(t, name, args).Text, "launch", "the owner sees it")
			}
		})
	}
}

func TestAGuestInTheMainSessionIsOneInItsTools(t *testing.T) {
	t.Parallel()
	b := guestInMain(t)
	var got struct {
		Count    int
		Sessions []struct{ Key string }
	}
	require.NoError(t, json.Unmarshal([]byte(b.tool(t, "sessions_list", `{}`).Text), &got))
	require.Equal(t, 1, got.Count)
	require.Equal(t, "main", got.Sessions[0].Key)
	for _, other := range []string{string(group), "agent:main:subagent:1"} {
		for _, tool := range []string{"sessions_history", "session_status", "sessions_send"} {
			args := func(key string) string {
				if tool == "sessions_send" {
					return `{"sessionKey":"` + key + `","message":"x"}`
				}
				return `{"sessionKey":"` + key + `"}`
			}
			hidden, absent := b.tool(t, tool, args(other)), b.tool(t, tool, args("agent:main:subagent:none"))
			require.True(t, hidden.Error)
			require.Equal(t, absent.Text, strings.ReplaceAll(hidden.Text, other, "agent:main:subagent:none"), "as one that never was")
		}
	}
	require.Empty(t, b.asked)
	for _, key := range []string{"main", "current", "agent:main:main", string(b.run.Session)} {
		require.Contains(t, b.tool(t, "sessions_history", `{"sessionKey":"`+key+`"}`).Text, "the owner only")
	}
	require.Contains(t, b.tool(t, "summarize", `{"scope":"topic","focus":"launch"}`).Text, "the owner only")
	require.True(t, b.tool(t, "session_status", `{"model":"test/scripted"}`).Error)
	require.True(t, b.tool(t, "message", `{"message":"x","to":"43"}`).Error)
}

// A guest's own session is all theirs.
func TestAGuestInASessionOfTheirOwn(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.configure(func(s *roster.Settings) { s.Keyer = sessions.Keyer{Scope: sessions.ScopePerAccountChannelPeer} })
	b.as(t, b.record("agent:main:telegram:default:direct:eve", flow.Bottom()), false)
	require.False(t, b.tool(t, "sessions_history", `{"sessionKey":"current"}`).Error)
}
