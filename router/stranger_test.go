package router_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/sessions"
)

// An owner who speaks to the bot in a group that is not admitted is told privately what to set, once for a group and over
// restarts; the group hears nothing.
func TestAnOwnerIsToldOfAnUnlistedGroup(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy place.AccessPolicy
		want   string
	}{
		"not listed": {place.AccessAllowlist, "```yaml\nchannels:\n  test:\n    groups:\n      \"-100200\": { requireMention: true }\n```"},
		"disabled":   {place.AccessDisabled, "```yaml\nchannels:\n  test:\n    groupPolicy: allowlist # it is disabled: I answer in no group\n    groups:\n      \"-100200\": { requireMention: true }\n```"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t, func(b *bundle) { b.settings.Channels["test"] = place.ChannelSettings{GroupPolicy: c.policy} })
				mention := inGroup("-100200", "owner", "1", "are you there?", true)
				mention.Route.Title = "Team\n`x` \u202e"
				require.Equal(t, ledger.OutcomeIgnored, b.hear(mention).Outcome)
				synctest.Wait()
				own := b.chat.texts("owner")
				require.Len(t, own, 1)
				require.Contains(t, own[0], c.want)
				require.Contains(t, own[0], "`Team 'x' \\u202e`")
				b.hear(inGroup("-100200", "owner", "2", "hello?", true))
				b.restart()
				b.hear(inGroup("-100200", "owner", "3", "hello??", true))
				b.hear(inGroup("-100200", "ann", "4", "hello", true))
				b.hear(inGroup("-100300", "ann", "5", "hello", true))
				b.hear(inGroup("-100300", "owner", "6", "not to you", false))
				synctest.Wait()
				require.Len(t, b.chat.texts("owner"), 1, "once, and not for what others say or what is not said to the bot")
				b.hear(inGroup("-100300", "owner", "7", "and here?", true))
				synctest.Wait()
				require.Len(t, b.chat.texts("owner"), 2)
				require.Empty(t, b.chat.texts("-100200"))
				require.Empty(t, b.chat.texts("-100300"))
			})
		})
	}
}

// A stranger learns their own id in a direct chat, and nothing else; asking over and over is answered once an hour.
func TestAStrangerLearnsTheirID(t *testing.T) {
	t.Parallel()
	for _, policy := range []place.AccessPolicy{place.AccessPairing, place.AccessAllowlist, place.AccessDisabled} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t, func(b *bundle) {
					b.settings.Channels["test"] = place.ChannelSettings{DMPolicy: policy, GroupPolicy: place.AccessAllowlist}
				})
				for n := range 5 {
					b.hear(in("ann", fmt.Sprint(n), "/whoami"))
				}
				b.hear(inGroup("g1", "ann", "6", "/whoami", true))
				synctest.Wait()
				require.Equal(t, []string{"You are `test:ann`."}, b.chat.texts("ann"))
				require.Empty(t, b.chat.texts("g1"))
				pending, err := b.store.ListPairings(t.Context(), "", "", ledger.PairingPending)
				require.NoError(t, err)
				require.Empty(t, pending, "it is no wish to be let in")
				time.Sleep(time.Hour)
				b.hear(in("ann", "7", "/whoami"))
				synctest.Wait()
				require.Len(t, b.chat.texts("ann"), 2)
			})
		})
	}
}

// However many strangers ask, at most this many rows are made in an hour.
func TestStrangersWhoAskAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, pairing)
		for n := range 300 {
			b.hear(in(fmt.Sprint("s", n), "1", "/whoami"))
		}
		synctest.Wait()
		found, err := b.store.ListDeliveries(t.Context(), ledger.Query{MaxLevel: flow.Restricted, Limit: 200})
		require.NoError(t, err)
		require.LessOrEqual(t, len(found), 64)
		require.Greater(t, len(found), 32)
		require.Equal(t, sessions.Direct, found[0].Route.ChatType)
	})
}
