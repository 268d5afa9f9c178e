package pause_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/pause"
)

func TestWait(t *testing.T) {
	t.Parallel()
	why := errors.New("enough")
	for name, c := range map[string]struct {
		pause, end, waits time.Duration // end: when ctx ends; 0 for never
		err               error
	}{
		"to the end of the pause":       {pause: time.Minute, waits: time.Minute},
		"no pause":                      {},
		"a pause that lies in the past": {pause: -time.Second},
		"until ctx ends":                {pause: time.Hour, end: time.Minute, waits: time.Minute, err: why},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if c.end > 0 {
					time.AfterFunc(c.end, func() { cancel(why) })
				}
				began := time.Now()
				err := pause.Wait(ctx, c.pause)
				require.Equal(t, c.waits, time.Since(began))
				require.Equal(t, c.err, err)
			})
		})
	}
}

func TestWaitReportsAContextThatHasEnded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.True(t, pause.Whole(t.Context(), 0))
	for range 50 { // the timer and ctx are both ready
		require.ErrorIs(t, pause.Wait(ctx, 0), context.Canceled)
		require.False(t, pause.Whole(ctx, 0))
	}
}

func TestDoubling(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ spread float64 }{"even": {0}, "a quarter longer": {0.25}, "up to twice as long": {1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pauses := pause.Doubling(time.Second, 10*time.Second, c.spread)
			for range 20 {
				pauses.Reset()
				for _, seconds := range []int{1, 2, 4, 8, 10, 10} {
					got, shortest := pauses.NextBackOff(), time.Duration(seconds)*time.Second
					require.GreaterOrEqual(t, got, shortest)
					require.LessOrEqual(t, got, time.Duration(float64(shortest)*(1+c.spread)))
				}
			}
		})
	}
}

func TestNth(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]time.Duration{
		0: 100 * time.Millisecond, 1: 100 * time.Millisecond, 2: 200 * time.Millisecond, 6: 3200 * time.Millisecond,
		9: 25600 * time.Millisecond, 10: 30 * time.Second, 1000: 30 * time.Second,
	} {
		require.Equal(t, want, pause.Nth(100*time.Millisecond, 30*time.Second, n), n)
	}
}
