package wire

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFailuresByAddress(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	f := NewFailures(func() time.Time { return now })
	for range failuresMax {
		require.Zero(t, f.Add("a"))
	}
	require.Equal(t, time.Minute, f.Wait("a"), "the next one is too many")
	require.Zero(t, f.Wait("b"))
	now = now.Add(20 * time.Second)
	require.Equal(t, 40*time.Second, f.Add("a"))
	require.Zero(t, f.Add("b"), "another address")
	now = now.Add(40 * time.Second)
	require.Zero(t, f.Add("a"), "the window has passed")
	for i := range 2 * addressesMax {
		f.Add(strconv.Itoa(i))
	}
	require.LessOrEqual(t, len(f.by), addressesMax+1, "what is remembered is bounded")
	require.Equal(t, "1", Seconds(time.Millisecond))
}
