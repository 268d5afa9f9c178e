package job

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
)

// The trigger after one that did not fire has its wakes, with their label; the one after one that fired has none.
func TestWakesFollow(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	beat := Heartbeat("main", time.Hour, Hours{})
	secret := flow.NewLabel(flow.Confidential, flow.Untrusted)
	old := beat.waiting(now, now, now)
	Leave(&old, ledger.TriggerWake{ID: "w1", Text: "look", Label: secret})
	require.Equal(t, secret, old.Label)

	for _, next := range [][]ledger.Trigger{beat.follow(&old, now, now, false), {beat.counted(beat.waiting(now, now, now), past{wakes: untold([]ledger.Trigger{old, old})})}} {
		require.Len(t, next, 1)
		require.Equal(t, old.Wakes, next[0].Wakes)
		require.Equal(t, secret, next[0].Label)
	}
	next := beat.follow(&old, now, now, true)
	require.Empty(t, next[0].Wakes)
	require.Equal(t, flow.Bottom(), next[0].Label)
}
