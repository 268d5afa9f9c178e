package slack_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/adapters/slack"
)

// Whatever comes in whatever mix, each conversation is passed in its order, one at a time.
func TestLanesKeepTheOrderOfEachConversation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lanes := slack.NewLanes()
		conversations := rapid.SliceOfN(rapid.IntRange(0, 3), 1, 60).Draw(t, "conversations")
		var (
			mu      sync.Mutex
			passed  = map[int][]int{}
			running = map[int]bool{}
			done    sync.WaitGroup
		)
		for i, c := range conversations {
			pass, ok := lanes.Take(strconv.Itoa(i), strconv.Itoa(c), "")
			require.True(t, ok)
			done.Go(func() {
				_ = pass(context.Background(), func() error {
					mu.Lock()
					defer mu.Unlock()
					if running[c] {
						return errors.New("two at once")
					}
					running[c] = true
					passed[c] = append(passed[c], i)
					running[c] = false
					return nil
				})
			})
		}
		done.Wait()
		for c, order := range passed {
			require.IsIncreasing(t, append(order, len(conversations)), "conversation %d", c)
		}
		events, open := lanes.Pending()
		require.Zero(t, events+open, "nothing is kept")
	})
}

func TestLanesPutAnOlderEventBeforeYoungerOnesThatWait(t *testing.T) {
	t.Parallel()
	lanes := slack.NewLanes()
	var order []string
	var passes []func()
	for _, at := range []string{"5", "9", "7"} {
		pass, ok := lanes.Take("id"+at, "C1", at)
		require.True(t, ok)
		passes = append(passes, func() {
			require.NoError(t, pass(t.Context(), func() error { order = append(order, at); return nil }))
		})
	}
	passes[0]()
	passes[2]()
	passes[1]()
	require.Equal(t, []string{"5", "7", "9"}, order)
}

func TestAnEventThatComesAgainWhileItIsAcceptedIsAcceptedOnce(t *testing.T) {
	t.Parallel()
	errNo := errors.New("no")
	for _, outcome := range []error{nil, errNo} {
		lanes := slack.NewLanes()
		first, _ := lanes.Take("Ev1", "C1", "1")
		again, _ := lanes.Take("Ev1", "C1", "1")
		calls := 0
		accept := func() error { calls++; return outcome }
		result := make(chan error, 1)
		go func() { result <- again(t.Context(), accept) }()
		require.Equal(t, outcome, first(t.Context(), accept))
		require.Equal(t, outcome, <-result)
		require.Equal(t, 1, calls)
	}
}

func TestLanesThatAreFullTakeNoMore(t *testing.T) {
	t.Parallel()
	lanes := slack.NewLanes()
	var passes []func(context.Context, func() error) error
	for i := range slack.MaxPending {
		pass, ok := lanes.Take(fmt.Sprint(i), "C1", "")
		require.True(t, ok)
		passes = append(passes, pass)
	}
	_, ok := lanes.Take("one more", "C2", "")
	require.False(t, ok)
	require.NoError(t, passes[0](t.Context(), func() error { return nil }))
	_, ok = lanes.Take("one more", "C2", "")
	require.True(t, ok)
}

// Who gives up makes room without letting the next one past what is before it.
func TestGivingUpKeepsTheOrder(t *testing.T) {
	t.Parallel()
	lanes := slack.NewLanes()
	first, _ := lanes.Take("1", "C1", "")
	second, _ := lanes.Take("2", "C1", "")
	third, _ := lanes.Take("3", "C1", "")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, second(ended, func() error { return nil }), context.Canceled)
	require.ErrorIs(t, third(ended, func() error { return nil }), context.Canceled, "the first has not left")
	require.NoError(t, first(t.Context(), func() error { return nil }))
	events, open := lanes.Pending()
	require.Zero(t, events+open)
}
