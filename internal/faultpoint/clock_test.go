//go:build faultpoints

package faultpoint

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestASetClock(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, by := range []time.Duration{0, time.Hour, -time.Hour, 90 * time.Second} {
		moved := set(now, by)
		require.Equal(t, by, moved.Round(0).Sub(now.Round(0)))
		require.Zero(t, moved.Sub(now), "the monotonic clock goes on")
	}
}
