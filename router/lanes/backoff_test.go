package lanes

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Waits double up to their bound.
func TestBackoff(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]time.Duration{0: 100 * time.Millisecond, 1: 200 * time.Millisecond, 5: 3200 * time.Millisecond, 9: 30 * time.Second, 10: 30 * time.Second, 1000: 30 * time.Second} {
		require.Equal(t, want, Backoff(n), n)
	}
}
