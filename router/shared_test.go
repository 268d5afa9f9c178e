package router_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"sluice/router/place"
	"sluice/sessions"
)

func TestSharedMain(t *testing.T) {
	t.Parallel()
	require.Contains(t, place.SharedMain(sessions.Keyer{}), "(`session.dmScope: main`)")
	for _, scope := range []sessions.DMScope{sessions.ScopePerPeer, sessions.ScopePerChannelPeer, sessions.ScopePerAccountChannelPeer} {
		require.Empty(t, place.SharedMain(sessions.Keyer{Scope: scope}))
		require.Contains(t, place.SharedMain(sessions.Keyer{Scope: scope, Global: true}), "`session.scope: per-sender`")
	}
}

// Who admits a person into the owner's own session reads so before and after, and which setting prevents it.
func TestAdmittingIntoTheOwnersSessionIsSaid(t *testing.T) {
	t.Parallel()
	for scope, says := range map[sessions.DMScope]bool{sessions.ScopeMain: true, sessions.ScopePerAccountChannelPeer: false} {
		t.Run(string(scope), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const setting = "`session.dmScope: per-account-channel-peer`"
				b := newBundle(t, pairing, func(b *bundle) { b.settings.Keyer.Scope = scope })
				check := func(text string) {
					t.Helper()
					if says {
						require.Contains(t, text, setting)
					} else {
						require.NotContains(t, text, setting)
					}
				}
				b.hear(in("ann", "1", "let me in"))
				check(b.last("owner"))
				require.NotContains(t, b.last("ann"), setting)
				b.hear(in("owner", "2", "/pair approve "+b.code()))
				require.Contains(t, b.last("owner"), "may talk to me now")
				check(b.last("owner"))
				b.hear(in("eve", "3", "let me in"))
				check(b.last("owner")) // the question is on a lane of its own: it is there before the answer below
				b.hear(in("owner", "4", "/pair deny "+b.code()))
				require.NotContains(t, b.last("owner"), setting)
			})
		})
	}
}
