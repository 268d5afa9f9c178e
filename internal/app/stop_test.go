package app

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// The process ends within ten seconds of SIGTERM, also where a part of it does not stop.
func TestAStopIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hangs, began := make(chan struct{}), time.Now()
		require.True(t, endsWithin(stopTimeout+stopSpare, func() { time.Sleep(stopTimeout) }))
		require.Equal(t, stopTimeout, time.Since(began))
		began = time.Now()
		require.False(t, endsWithin(stopTimeout+stopSpare, func() { <-hangs }))
		require.LessOrEqual(t, time.Since(began), 10*time.Second)
		close(hangs)
	})
}
