package hooks

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFailuresByAddress(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	f := newFailures(func() time.Time { return now })
	for range failuresMax {
		require.Zero(t, f.add("a"))
	}
	now = now.Add(20 * time.Second)
	require.Equal(t, 40*time.Second, f.add("a"))
	require.Zero(t, f.add("b"), "another address")
	now = now.Add(40 * time.Second)
	require.Zero(t, f.add("a"), "the window has passed")
	for i := range 2 * addressesMax {
		f.add(strconv.Itoa(i))
	}
	require.LessOrEqual(t, len(f.by), addressesMax+1, "what is remembered is bounded")
	require.Equal(t, "1", seconds(time.Millisecond))
}
