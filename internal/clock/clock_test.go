package clock

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A time with a monotonic reading whose wall clock was set can't be made, so a test sets the other clock instead.
func other(ahead *time.Duration) Ask {
	return func(context.Context) (time.Time, error) { return time.Now().Add(*ahead).UTC(), nil }
}

func TestTheMachinesClockCountsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		require.Equal(t, time.Now(), New(time.Now).Now())
	})
}

func TestADatabasesClockCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, ahead := range []time.Duration{time.Hour, -time.Hour, 150 * time.Millisecond} {
			c := New(time.Now)
			require.NoError(t, c.Look(t.Context(), other(&ahead), slog.New(slog.DiscardHandler)))
			require.Equal(t, time.Now().Add(ahead).UnixNano(), c.Now().UnixNano())
			require.Equal(t, time.Local, c.Now().Location(), "the zone is the machine's")
			time.Sleep(time.Minute)
			require.Equal(t, time.Now().Add(ahead).UnixNano(), c.Now().UnixNano())
			require.Equal(t, c.Now(), c.Now().Round(0), "what is left of a monotonic reading would be compared with those of before")
		}
	})
}

// A clock that is right is not set: its time would jump back by what an answer takes.
func TestARightClockIsLeftAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, log, ahead := New(time.Now), slog.New(slog.DiscardHandler), time.Hour
		require.NoError(t, c.Look(t.Context(), other(&ahead), log))
		first := c.follows.Load()
		slow := func(ctx context.Context) (time.Time, error) {
			now, err := other(&ahead)(ctx)
			time.Sleep(3 * time.Second)
			return now, err
		}
		ahead += 90 * time.Millisecond
		require.NoError(t, c.Look(t.Context(), other(&ahead), log))
		require.NoError(t, c.Look(t.Context(), slow, log))
		require.Same(t, first, c.follows.Load())
		ahead += 20 * time.Millisecond
		require.NoError(t, c.Look(t.Context(), other(&ahead), log))
		require.NotSame(t, first, c.follows.Load())
		require.Equal(t, time.Now().Add(ahead).UnixNano(), c.Now().UnixNano())
	})
}

// Follow looks again until its context ends; time goes on while it can't.
func TestFollow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		log := slog.New(slog.NewTextHandler(&text, nil))
		var ahead atomic.Int64
		var gone atomic.Bool
		ask := func(context.Context) (time.Time, error) {
			if gone.Load() {
				return time.Time{}, errors.New("gone")
			}
			return time.Now().Add(time.Duration(ahead.Load())), nil
		}
		c := New(time.Now)
		require.NoError(t, c.Look(t.Context(), ask, log))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.Follow(ctx, ask, log)
		}()
		ahead.Store(int64(time.Hour))
		gone.Store(true)
		time.Sleep(time.Minute)
		require.Equal(t, time.Now().UnixNano(), c.Now().UnixNano())
		gone.Store(false)
		time.Sleep(2 * lookEvery)
		require.Equal(t, time.Now().Add(time.Hour).UnixNano(), c.Now().UnixNano())
		ahead.Store(0)
		time.Sleep(2 * lookEvery)
		require.Equal(t, time.Now().UnixNano(), c.Now().UnixNano())
		stop()
		<-ended
		require.Equal(t, 1, strings.Count(text.String(), "differs from the database's"))
		require.Contains(t, text.String(), "machine_ahead_by=-1h0m0s")
		require.Equal(t, 1, strings.Count(text.String(), "right again"))
	})
}
