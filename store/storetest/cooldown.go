package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/model/cooldown"
	"sluice/sessions/port"
)

func testCooldowns(t *testing.T, b *bundle) {
	place := cooldown.Place{Provider: "p", Key: "key1", Model: "gpt/ü"}
	since := time.UnixMicro(1_800_000_000_000_001).UTC()
	cools := cooldown.State{Place: place, Mark: "0a", Kind: port.ModelOverloaded, Step: 2, Since: since, Until: since.Add(time.Minute)}
	blocked := cooldown.State{Place: cooldown.Place{Provider: "p", Key: "key1"}, Mark: "0a", Kind: port.ModelAuth, Step: 1, Since: since}
	stored := func(want ...cooldown.State) {
		t.Helper()
		got, err := b.Cooldowns(b.ctx)
		require.NoError(t, err)
		require.ElementsMatch(t, want, got)
	}
	claim := func(p cooldown.Place, now time.Time) bool {
		t.Helper()
		mine, err := b.ClaimProbe(b.ctx, p, now, now.Add(-time.Minute))
		require.NoError(t, err)
		return mine
	}
	stored()
	require.NoError(t, b.PutCooldown(b.ctx, cools))
	require.NoError(t, b.PutCooldown(b.ctx, blocked))
	stored(cools, blocked)

	require.True(t, claim(place, since))
	require.False(t, claim(place, since.Add(time.Second)), "one probe for all replicas")
	require.True(t, claim(place, since.Add(2*time.Minute)), "a probe whose process died is given again")
	require.False(t, claim(cooldown.Place{Provider: "p", Key: "key2", Model: "gpt/ü"}, since))

	cools.Step, cools.Kind, cools.Mark = 3, port.ModelCut, "0b"
	require.NoError(t, b.PutCooldown(b.ctx, cools))
	stored(cools, blocked)
	require.True(t, claim(place, since.Add(3*time.Minute)), "the next failure ends the probe")

	require.NoError(t, b.DropCooldown(b.ctx, place))
	require.NoError(t, b.DropCooldown(b.ctx, place))
	stored(blocked)
}
