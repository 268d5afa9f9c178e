package checks_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/check"
	"sluice/internal/pause"
)

// ask asks for what the check has found since a time.
func (s *scene) ask(since time.Time) (value string, pending bool) {
	s.t.Helper()
	rows, pending, err := s.Ask(s.t.Context(), []string{"n"}, since)
	require.NoError(s.t, err)
	if len(rows) > 0 {
		value = rows[0].Value
	}
	return value, pending
}

// Whoever asks waits for a quick source, and not for a slow one.
func TestAsk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, check.Definition{})
		defer s.Stop()
		s.number = 1
		value, pending := s.ask(time.Now())
		require.Equal(t, []any{"1", false}, []any{value, pending})
		s.number = 2
		time.Sleep(30 * time.Second)
		value, _ = s.ask(time.Now())
		require.Equal(t, "1", value, "recent enough")

		count := s.Ways.Count
		s.Ways.Count = func(ctx context.Context, what string) (int, error) {
			if err := pause.Wait(ctx, 20*time.Second); err != nil {
				return 0, err
			}
			return count(ctx, what)
		}
		time.Sleep(5 * time.Minute)
		asked := time.Now()
		_, pending = s.ask(asked)
		require.True(t, pending)
		require.Equal(t, 200*time.Millisecond, time.Since(asked))
		_, pending = s.ask(asked)
		require.True(t, pending)
		require.Equal(t, 200*time.Millisecond, time.Since(asked), "a look that goes on is not waited for")
		time.Sleep(5 * time.Minute)
		value, pending = s.ask(asked)
		require.Equal(t, []any{"2", false}, []any{value, pending}, "its answer counts, although it is old")
		require.Equal(t, 2, s.reads)
	})
}

func TestStopEndsLooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, check.Definition{})
		s.Ways.Count = func(ctx context.Context, _ string) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}
		_, pending := s.ask(time.Now())
		require.True(t, pending)
		s.Stop()
		_, pending = s.ask(time.Now())
		require.True(t, pending)
		require.Nil(t, s.row, "nothing was found")
		require.Empty(t, s.log.String())
	})
}

// A fault in a source is logged, and the check can be asked again.
func TestLookThatPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, check.Definition{})
		defer s.Stop()
		count := s.Ways.Count
		s.Ways.Count = func(context.Context, string) (int, error) { panic("a fault") }
		_, pending := s.ask(time.Now())
		require.True(t, pending)
		require.Contains(t, s.log.String(), "a fault")
		s.Ways.Count = count
		_, pending = s.ask(time.Now())
		require.False(t, pending)
	})
}
