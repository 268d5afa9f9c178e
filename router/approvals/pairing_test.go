package approvals

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The lock is noted with the code that brings it, and once.
func TestWrongCodesAreCounted(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	for n, want := range map[int]int{1: 1, wrongCodesMax - 1: 1, wrongCodesMax: 2, wrongCodesMax + 1: 1} {
		require.Len(t, wrongCode("test:owner", now, n).Audit, want, n)
	}
}

func TestPairingCodesAreReadable(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 200 {
		code := newPairingCode()
		require.Regexp(t, `^[2-9A-HJ-NP-Z]{8}$`, code)
		require.False(t, seen[code])
		seen[code] = true
	}
}
