package router_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"sluice/router/ledger"
	"sluice/router/place"
)

// An owner's edit that looks like a command is not one, and so does not reach the agent in a group where nobody is heard.
func TestEditIsNoWayIn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) {
			b.settings.Channels["test"] = place.ChannelSettings{
				GroupPolicy: place.AccessAllowlist, Groups: map[string]place.GroupSettings{"known": {RequireMention: true}},
			}
		})
		for _, group := range []string{"known", "unknown"} {
			edit := inGroup(group, "owner", "1", "/status", false)
			edit.Event, edit.Edited = group+"/1/edit/2", true
			got := b.hear(edit)
			require.Equal(t, ledger.OutcomeIgnored, got.Outcome, group)
			require.Empty(t, got.Run, group)
		}
		synctest.Wait()
		require.Empty(t, b.chat.texts(""))
	})
}
