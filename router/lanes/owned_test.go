package lanes

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/sessions"
)

var errBroken = errors.New("the store is broken")

// A new owner looks at all lanes with work, and gives the partition back once.
func TestAcquireAndRelease(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		s.store.waiting[1] = []sessions.Lane{"a", "b"}
		require.NoError(t, s.Acquire(t.Context(), 1, 0))
		require.ElementsMatch(t, []sessions.Lane{"a", "b"}, s.worked())
		require.Equal(t, []string{"replica"}, s.store.replicas)
		require.True(t, s.Owns(1))
		require.False(t, s.Owns(2))
		require.Equal(t, 1, s.owned())
		require.NoError(t, s.Acquire(t.Context(), 2, 0))
		require.Equal(t, 2, s.owned())

		s.Release(t.Context(), 1)
		s.Release(t.Context(), 1)
		require.Equal(t, 1, s.owned())
		require.Equal(t, []int{1}, s.released)
		require.False(t, s.Owns(1))
		s.Woken(1, "a")
		require.Empty(t, s.worked(), "it is another replica's")
		require.NoError(t, s.Acquire(t.Context(), 1, 0))
		s.ReleaseAll(t.Context())
		require.ElementsMatch(t, []int{1, 1, 2}, s.released)
		require.Zero(t, s.owned())
		require.Empty(t, s.logged())
	})
}

// A partition whose work can't be listed is given back: its wakes would end here.
func TestAcquireFails(t *testing.T) {
	for name, c := range map[string]struct {
		broken   func(*fakeStore)
		says     string
		released []int
	}{
		"taking":        {func(s *fakeStore) { s.takeErr = errBroken }, "take partition 1: ", nil},
		"listing lanes": {func(s *fakeStore) { s.waitingErr = errBroken }, "list waiting lanes: ", []int{1}},
		"listing ends":  {func(s *fakeStore) { s.abortsErr = errBroken }, "list aborts: ", []int{1}},
	} {
		t.Run(name, func(t *testing.T) {
			inScene(t, func(t *testing.T, s *scene) {
				c.broken(s.store)
				err := s.Acquire(t.Context(), 1, 0)
				require.ErrorIs(t, err, errBroken)
				require.ErrorContains(t, err, c.says)
				require.False(t, s.Owns(1))
				require.Zero(t, s.owned())
				require.Equal(t, c.released, s.released)
			})
		})
	}
}

// A sweep finds what wakes have not told.
func TestRescan(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		require.NoError(t, s.Acquire(t.Context(), 1, 0))
		require.NoError(t, s.Acquire(t.Context(), 2, 0))
		s.store.waiting = map[int][]sessions.Lane{1: {"a"}, 2: {"b"}, 3: {"c"}}
		s.RescanAll()
		require.ElementsMatch(t, []sessions.Lane{"a", "b"}, s.worked())
		s.Rescan(2)
		require.Equal(t, []sessions.Lane{"b"}, s.worked())
		s.Rescan(3)
		require.Empty(t, s.worked())
		s.store.waitingErr = errBroken
		s.Rescan(1)
		require.Contains(t, s.logged(), "partition not rescanned")
	})
}

// A scan that fails because the lease is lost is not logged as an error.
func TestRescanAfterTheLease(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		lease, lost := context.WithCancel(t.Context())
		require.NoError(t, s.Acquire(lease, 1, 0))
		lost()
		s.store.waitingErr = errBroken
		s.Rescan(1)
		require.Empty(t, s.logged())
	})
}

// Work may end within the grace period; then it is cancelled.
func TestReleaseWaits(t *testing.T) {
	for name, c := range map[string]struct {
		turn func(*Lane) (Rest, error)
		ctx  func(context.Context) context.Context
		took time.Duration
		log  string
	}{
		"work that ends in time": {turn: func(*Lane) (Rest, error) { time.Sleep(time.Second); return Rest{Again: true}, nil }, took: time.Second},
		"work that has a pause":  {turn: func(*Lane) (Rest, error) { return Rest{Wait: time.Hour}, nil }},
		"work that is cancelled": {turn: func(l *Lane) (Rest, error) {
			<-l.Context().Done()
			if !errors.Is(context.Cause(l.Context()), errHandback) {
				return Rest{}, errBroken
			}
			return Rest{}, nil
		}, took: testGrace},
		"nobody waits any more": {turn: func(l *Lane) (Rest, error) {
			<-l.Context().Done()
			return Rest{}, l.Context().Err()
		}, ctx: func(ctx context.Context) context.Context {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return ctx
		}},
		"work that goes on": {turn: func(*Lane) (Rest, error) { time.Sleep(time.Hour); return Rest{}, nil }, took: testGrace + releaseWait, log: "work that ignores its context"},
	} {
		t.Run(name, func(t *testing.T) {
			inScene(t, func(t *testing.T, s *scene) {
				s.turn = c.turn
				s.store.waiting[1] = []sessions.Lane{"a"}
				require.NoError(t, s.Acquire(t.Context(), 1, 0))
				require.Len(t, s.worked(), 1)
				ctx, began := t.Context(), time.Now()
				if c.ctx != nil {
					ctx = c.ctx(ctx)
				}
				s.Release(ctx, 1)
				require.Equal(t, c.took, time.Since(began))
				require.Equal(t, []int{1}, s.released)
				require.Empty(t, s.worked(), "no turn is begun any more")
				if log := s.logged(); c.log == "" {
					require.Empty(t, log)
				} else {
					require.Contains(t, log, c.log)
					time.Sleep(time.Hour)
				}
			})
		})
	}
}

// All partitions are released at the same time.
func TestReleaseAllTakesOneGrace(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		s.turn = func(l *Lane) (Rest, error) { <-l.Context().Done(); return Rest{}, nil }
		s.store.waiting = map[int][]sessions.Lane{1: {"a"}, 2: {"b"}}
		require.NoError(t, s.Acquire(t.Context(), 1, 0))
		require.NoError(t, s.Acquire(t.Context(), 2, 0))
		began := time.Now()
		s.ReleaseAll(t.Context())
		require.Equal(t, testGrace, time.Since(began))
		require.ElementsMatch(t, []int{1, 2}, s.released)
	})
}

// A lane ends with the lease, also one that wants to go on.
func TestLaneEndsWithTheLease(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		s.turn = func(l *Lane) (Rest, error) {
			if l.Name == "a" {
				time.Sleep(time.Second)
				return Rest{Again: true}, nil
			}
			return Rest{Wait: time.Hour}, nil
		}
		s.store.waiting[1] = []sessions.Lane{"a", "b"}
		lease, lost := context.WithCancel(t.Context())
		require.NoError(t, s.Acquire(lease, 1, 0))
		require.Len(t, s.worked(), 2)
		lost()
		time.Sleep(time.Minute)
		require.LessOrEqual(t, len(s.worked()), 1, "each looks once more at most")
		require.Empty(t, s.owner(1).lanes)
	})
}
