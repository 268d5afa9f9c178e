package lanes_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/router/lanes"
	"sluice/sessions"
)

// What can't be done while the database is unavailable is done when it is back, and given up with the one who waits.
func TestPatiently(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		errBroken := errors.New("disk I/O error")
		tries := 0
		again := func() error {
			if tries++; tries < 4 {
				return sessions.ErrUnavailable
			}
			return nil
		}
		require.NoError(t, lanes.Patiently(t.Context(), again))
		require.Equal(t, 4, tries)
		require.ErrorIs(t, lanes.Patiently(t.Context(), func() error { return errBroken }), errBroken)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		tries = 0
		require.ErrorIs(t, lanes.Patiently(ctx, again), sessions.ErrUnavailable)
		require.Equal(t, 1, tries)
	})
}

// Pauses double up to their limit, and are shorter while the database is unavailable.
func TestBackoff(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]time.Duration{0: 100 * time.Millisecond, 1: 200 * time.Millisecond, 5: 3200 * time.Millisecond, 9: 30 * time.Second, 10: 30 * time.Second, 1000: 30 * time.Second} {
		require.Equal(t, want, lanes.Backoff(n), n)
		require.Equal(t, min(want, 5*time.Second), lanes.OutagePause(n), n)
	}
}
