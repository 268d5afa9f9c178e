package router_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// Of a message that could be read only in part nobody knows what is missing: perhaps that it was forwarded. So it is no
// command, it is untrusted, and the agent is told.
func TestAMessageThatWasReadInPart(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]adapters.Inbound{
		"a command": in("owner", "1", "/send off"),
		"no text":   in("owner", "1", ""),
		"in group":  inGroup("g", "owner", "1", "/send off", true),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t)
				var seen sessions.Message
				b.agent.work = func(_ context.Context, s *sessions.Session, _ *sessions.Run) (string, error) {
					seen = s.Last()
					return "ok", nil
				}
				m.Unread = "attachments"
				got := b.hear(m)
				require.Equal(t, ledger.OutcomeRun, got.Outcome)
				b.await(1)
				require.Contains(t, seen.Text(), "[Part of this message could not be read: attachments]")
				record, err := b.store.Session(t.Context(), got.Session)
				require.NoError(t, err)
				require.Equal(t, sessions.SendInherit, record.SendPolicy)
				require.Equal(t, flow.Untrusted, record.Taint.Trust())
			})
		})
	}
}
