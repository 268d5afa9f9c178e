package lanes

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/sessions"
)

// A lane ends where nothing is left, and is begun again by a wake.
func TestLaneEndsAndBeginsAgain(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		require.NoError(t, s.Acquire(t.Context(), 1, 0))
		for range 2 {
			s.Woken(1, "a")
			require.Equal(t, []sessions.Lane{"a"}, s.worked())
			require.Empty(t, s.owner(1).lanes)
		}
	})
}

// What a turn wants: to look again at once, after a time, or when it is woken.
func TestRestOfATurn(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		rests := []Rest{{Again: true}, {Again: true, Wait: time.Minute}, {Wait: time.Hour}, {Wait: time.Hour}}
		var at []time.Duration
		began := time.Now()
		s.turn = func(*Lane) (rest Rest, err error) {
			at = append(at, time.Since(began))
			if len(rests) > 0 {
				rest, rests = rests[0], rests[1:]
			}
			return rest, nil
		}
		require.NoError(t, s.Acquire(t.Context(), 1, 0))
		s.Woken(1, "a")
		time.Sleep(time.Minute + time.Hour + time.Second)
		s.Woken(1, "a")
		synctest.Wait()
		require.Equal(t, []time.Duration{0, 0, time.Minute, time.Minute + time.Hour, time.Minute + time.Hour + time.Second, time.Minute + time.Hour + time.Second}, at,
			"the last wake is looked at, and what came with it")
		require.Empty(t, s.owner(1).lanes)
	})
}

// A lane that is woken while it works looks again, and its run is told once that there is something to hear.
func TestWokenWhileItWorks(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		var heard []bool
		goOn := make(chan struct{})
		s.turn = func(l *Lane) (Rest, error) {
			if len(heard) == 0 {
				heard = append(heard, l.Heard())
				<-goOn
				heard = append(heard, l.Heard(), l.Heard())
				l.Hear()
				heard = append(heard, l.Heard(), l.Heard())
			}
			return Rest{}, nil
		}
		require.NoError(t, s.Acquire(t.Context(), 1, 0))
		s.Woken(1, "a")
		require.Len(t, s.worked(), 1)
		s.Woken(1, "a")
		s.Woken(1, "a")
		close(goOn)
		require.Equal(t, []sessions.Lane{"a"}, s.worked(), "once for both wakes")
		require.Equal(t, []bool{false, true, false, true, false}, heard)
	})
}

// What a lane says of itself.
func TestLaneKnowsItsPartition(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		var lane *Lane
		s.turn = func(l *Lane) (Rest, error) { lane = l; return Rest{Wait: time.Hour}, nil }
		s.store.epoch = 6
		require.NoError(t, s.Acquire(t.Context(), 3, 0))
		s.Woken(3, "a")
		synctest.Wait()
		require.EqualValues(t, 7, lane.Epoch())
		require.Equal(t, 3, lane.Partition())
		require.False(t, lane.Stopping())
		require.NoError(t, lane.Context().Err())
		s.Release(t.Context(), 3)
		require.True(t, lane.Stopping())
		require.Error(t, lane.Context().Err())
	})
}

// A turn that fails or panics is retried after a growing pause; a good one ends the row.
func TestFailuresInARow(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		var failures []int
		s.turn = func(l *Lane) (Rest, error) {
			failures = append(failures, l.Failures())
			switch len(failures) {
			case 1:
				return Rest{Again: true}, errBroken
			case 2:
				panic("a fault")
			case 3:
				return Rest{Again: true}, nil
			}
			return Rest{}, nil
		}
		require.NoError(t, s.Acquire(t.Context(), 1, 0))
		s.Woken(1, "a")
		require.Len(t, s.worked(), 1)
		require.Contains(t, s.logged(), errBroken.Error())
		time.Sleep(Backoff(1))
		require.Len(t, s.worked(), 1)
		require.Contains(t, s.logged(), "a fault")
		time.Sleep(Backoff(2) - 1)
		require.Empty(t, s.worked())
		time.Sleep(time.Nanosecond)
		require.Len(t, s.worked(), 2)
		require.Equal(t, []int{0, 1, 2, 0}, failures)
		require.Empty(t, s.logged())
	})
}

// A lane whose partition has another owner by now ends, whatever it wanted.
func TestFencedLaneEnds(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		s.turn = func(*Lane) (Rest, error) { return Rest{Wait: time.Second}, sessions.ErrFenced }
		require.NoError(t, s.Acquire(t.Context(), 1, 0))
		s.Woken(1, "a")
		time.Sleep(time.Minute)
		require.Len(t, s.worked(), 1)
		require.Contains(t, s.logged(), "partition has moved")
		require.Equal(t, []int{1}, s.fenced, "the bus takes the partition again")
	})
}

// A lane whose lease has ended has nothing to tell.
func TestFencedAfterTheLease(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		lease, lost := context.WithCancel(t.Context())
		s.turn = func(*Lane) (Rest, error) {
			lost()
			return Rest{}, sessions.ErrFenced
		}
		require.NoError(t, s.Acquire(lease, 1, 0))
		s.Woken(1, "a")
		require.Len(t, s.worked(), 1)
		require.Empty(t, s.fenced)
	})
}

// The second half of a turn has its own goroutine; no other turn of the lane begins before it has ended.
func TestSecondHalfOfATurn(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		var said []string
		goOn := make(chan struct{})
		s.turn = func(*Lane) (Rest, error) {
			if said = append(said, "turn"); len(said) > 1 {
				return Rest{}, nil
			}
			return Rest{Then: func() (Rest, error) {
				<-goOn
				said = append(said, "second half")
				return Rest{Again: true}, nil
			}}, nil
		}
		require.NoError(t, s.Acquire(t.Context(), 1, 0))
		s.Woken(1, "a")
		s.Woken(1, "a")
		require.Len(t, s.worked(), 1)
		close(goOn)
		synctest.Wait()
		require.Equal(t, []string{"turn", "second half", "turn"}, said)
	})
}

// A lane that finds no place for its task is woken when one is free; one that has got a place since is not.
func TestTasksWaitForPlaces(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		o := newOwnership(t.Context(), 2, 1)
		defer o.cancel(nil)
		a, b, c := &Lane{Name: "a", owner: o}, &Lane{Name: "b", owner: o}, &Lane{Name: "c", owner: o}
		leave, ok := s.EnterTask(a, 1)
		require.True(t, ok)
		_, ok = s.EnterTask(b, 1)
		require.False(t, ok)
		_, ok = s.EnterTask(c, 1)
		require.False(t, ok)
		_, ok = s.EnterTask(b, 2)
		require.True(t, ok, "there are more places by now")
		leave()
		require.Equal(t, []wake{{2, "c"}}, s.sent())
		leave()
		require.Empty(t, s.sent())
	})
}
