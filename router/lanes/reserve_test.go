package lanes

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/sessions"
)

// A reserved lane does nothing before its start. Then it takes the step that it was given, and a turn if it was woken in the meantime.
func TestReservedLaneWaitsForItsStart(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		require.NoError(t, s.Acquire(t.Context(), 1, 0))
		reserved, ok := s.Reserve(1, "a")
		require.True(t, ok)
		require.Equal(t, sessions.Lane("a"), reserved.Name)
		require.Positive(t, reserved.Epoch())
		_, again := s.Reserve(1, "a")
		require.False(t, again, "it is reserved")
		s.Woken(1, "a")
		s.Woken(1, "b")
		require.Equal(t, []sessions.Lane{"b"}, s.worked())
		var steps []string
		step := func(name string) Turn {
			return func() (Rest, error) { steps = append(steps, name); return Rest{}, nil }
		}
		reserved.Start(step("step"), step("turn"))
		synctest.Wait()
		require.Equal(t, []string{"step", "turn"}, steps)
		require.Empty(t, s.owner(1).lanes)
		reserved, ok = s.Reserve(1, "a")
		require.True(t, ok)
		reserved.Start(step("step"), step("turn"))
		synctest.Wait()
		require.Equal(t, []string{"step", "turn", "step"}, steps, "nobody has woken it")
	})
}

// Only a lane without work can be reserved, and only by its partition's owner.
func TestReserveOnlyWhatRests(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		_, ok := s.Reserve(1, "a")
		require.False(t, ok, "this replica does not own the partition")
		require.NoError(t, s.Acquire(t.Context(), 1, 0))
		s.turn = func(*Lane) (Rest, error) { return Rest{Wait: time.Hour}, nil }
		s.Woken(1, "a")
		synctest.Wait()
		_, ok = s.Reserve(1, "a")
		require.False(t, ok, "it waits for its next try")
		s.Release(context.Background(), 1)
		_, ok = s.Reserve(1, "a")
		require.False(t, ok)
	})
}

// A partition is released when its reserved lanes have ended; they are told that nothing new is begun.
func TestReleaseWaitsForReservedLanes(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		require.NoError(t, s.Acquire(t.Context(), 1, 0))
		reserved, _ := s.Reserve(1, "a")
		released := make(chan struct{})
		go func() { s.Release(context.Background(), 1); close(released) }()
		synctest.Wait()
		require.True(t, reserved.Stopping())
		require.Empty(t, released)
		ended := false
		reserved.Start(func() (Rest, error) { ended = true; return Rest{}, nil }, nil)
		<-released
		require.True(t, ended)
	})
}
