package agent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/sessions"
)

// What works without people reaches the configured targets without a question, even if it has read what strangers wrote; any
// other place asks an owner. It needs the authority of an owner, as ever.
func TestUnattendedSessionsReachConfiguredTargets(t *testing.T) {
	t.Parallel()
	for _, key := range []sessions.Key{"cron:brief", "hook:1", "node-1", "agent:main:subagent:1"} {
		for name, c := range map[string]struct {
			args, channel, to string
			asks              bool
		}{
			"the owner":              {`{"message":"x","to":"owner"}`, "slack", "owner", false},
			"a named target":         {`{"message":"x","to":"ops"}`, "slack", "C1", false},
			"another conversation":   {`{"message":"x","channel":"slack","to":"C2"}`, "slack", "C2", true},
			"the same one by its id": {`{"message":"x","channel":"slack","to":"C1"}`, "slack", "C1", true},
			"a name on a channel":    {`{"message":"x","channel":"telegram","to":"ops"}`, "telegram", "ops", true},
			"another thread":         {`{"message":"x","channel":"slack","to":"ops","threadId":"8"}`, "slack", "ops", true},
		} {
			run := func(o *owner, owner bool) (*bundle, bool) {
				b := newBundle(t)
				b.run.Route = sessions.Route{}
				b.as(t, b.record(key, strangers), owner)
				b.approver = o
				return b, b.tool(t, "message", c.args).Error
			}
			o := answering(false)
			b, failed := run(o, true)
			require.Equal(t, c.asks, failed, "%s: %s", key, name)
			require.Equal(t, c.asks, len(o.asked) == 1, "%s: %s", key, name)
			if !c.asks {
				require.Len(t, b.sent, 1)
				require.Equal(t, c.channel, b.sent[0].Channel)
				require.Equal(t, c.to, b.sent[0].To)
				require.Equal(t, strangers, b.sent[0].Label, "the gate judges it at the session's label")
			}
			_, failed = run(answering(true), false)
			require.True(t, failed, "without an owner's authority")
		}
	}
}

// A conversation with people names targets too; what strangers wrote there still asks.
func TestConversationsNameTargets(t *testing.T) {
	t.Parallel()
	o := answering(true)
	b := among(t, strangers, o)
	require.False(t, b.tool(t, "message", `{"message":"x","to":"ops"}`).Error)
	require.Len(t, o.asked, 1)
	require.Equal(t, "slack", b.sent[0].Channel)
	require.Equal(t, "work", b.sent[0].Account)
	require.Equal(t, "7", b.sent[0].Thread)
}
