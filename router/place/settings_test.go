package place

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/queue"
	"sluice/sessions"
)

// A chain has reached a limit when it has used that much. A limit of 0 is no limit.
func TestBoundsOfAChain(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	s := ExchangeSettings{MaxSteps: 3, MaxTokens: 100, MaxAge: time.Hour}
	for name, c := range map[string]struct {
		use  ledger.ChainUse
		want string
	}{
		"little":                   {ledger.ChainUse{ID: "c", Steps: 2, Tokens: 99, Started: now.Add(-time.Hour + 1)}, ""},
		"maximum number of steps":  {ledger.ChainUse{ID: "c", Steps: 3, Started: now}, "steps"},
		"maximum number of tokens": {ledger.ChainUse{ID: "c", Tokens: 100, Started: now}, "tokens"},
		"as long":                  {ledger.ChainUse{ID: "c", Started: now.Add(-time.Hour)}, "maximum time"},
		"a chain that is no":       {ledger.ChainUse{Steps: 9, Tokens: 999}, ""},
	} {
		if c.want == "" {
			require.Empty(t, s.Spent(c.use, now), name)
		} else {
			require.Contains(t, s.Spent(c.use, now), c.want, name)
		}
	}
	require.Empty(t, ExchangeSettings{}.Spent(ledger.ChainUse{ID: "c", Steps: 1000, Tokens: math.MaxInt, Started: now.Add(-10_000 * time.Hour)}, now))
}

// The most that a session may learn: what is configured, and for who is not an owner what may be said where it began.
func TestClearance(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		configured  flow.Level
		owner       bool
		sink, wants flow.Level
	}{
		"an owner":                 {flow.Confidential, true, flow.Public, flow.Confidential},
		"an owner, without bound":  {flow.Level{}, true, flow.Public, flow.Restricted},
		"another":                  {flow.Confidential, false, flow.Internal, flow.Internal},
		"another, by what is more": {flow.Internal, false, flow.Confidential, flow.Internal},
		"another, without bound":   {flow.Level{}, false, flow.Internal, flow.Internal},
	} {
		require.Equal(t, c.wants, (&Settings{Clearance: c.configured}).clearance(c.owner, c.sink), name)
	}
}

func TestOwners(t *testing.T) {
	t.Parallel()
	s := &Settings{Owners: []string{"telegram:1", "slack:U1", "telegram:2:3"}}
	require.True(t, s.IsOwner("telegram", "1"))
	require.False(t, s.IsOwner("slack", "1"))
	require.Equal(t, []sessions.UserID{"1", "2:3"}, s.OwnersOn("telegram"))
	require.Empty(t, s.OwnersOn("discord"))
}

func TestQueueMode(t *testing.T) {
	t.Parallel()
	s := &Settings{Queue: queue.Settings{Mode: sessions.QueueCollect}}
	require.Equal(t, sessions.QueueCollect, s.QueueMode(sessions.Record{}))
	require.Equal(t, sessions.QueueSteer, s.QueueMode(sessions.Record{QueueMode: sessions.QueueSteer}))
}

// Who lets others in is told where that lets them into the owner's session.
func TestWarnShared(t *testing.T) {
	t.Parallel()
	for setting, keyer := range map[string]sessions.Keyer{
		"":                             {Scope: sessions.ScopePerPeer},
		"`session.dmScope: main`":      {Scope: sessions.ScopeMain},
		"`session.scope: per-sender`":  {Global: true, Scope: sessions.ScopePerPeer},
		"`session.scope: global`":      {Global: true},
		"All direct chats with an age": {},
	} {
		text := (&Settings{Keyer: keyer}).WarnShared("Done.")
		require.Contains(t, text, "Done.")
		require.Contains(t, text, setting)
		require.Equal(t, setting != "", text != "Done.", setting)
	}
}

// The owner is told something where they look: on a platform, and on the page only without one.
func TestFirstOwner(t *testing.T) {
	t.Parallel()
	for want, owners := range map[string][]string{
		":": nil, "webchat:local": {"webchat:local"}, "telegram:1": {"webchat:local", "telegram:1", "slack:U1"}, "slack:U1": {"slack:U1", "webchat:local", "telegram:1"},
	} {
		channel, id, ok := FirstOwner(owners)
		require.Equal(t, want, channel+":"+string(id))
		require.Equal(t, len(owners) > 0, ok)
	}
}
