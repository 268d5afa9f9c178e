package limits_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/limits"
)

// rows counts without levels, and how often it was asked.
type rows struct {
	mu    sync.Mutex
	asked int
	since map[string]time.Time
	used  map[string]int
	inUse int
	most  int // at the same time
}

func (r *rows) CountLimits(_ context.Context, counts []ledger.LimitCount, now time.Time) (int, time.Time, error) {
	r.mu.Lock()
	r.inUse++
	r.asked, r.most = r.asked+1, max(r.most, r.inUse)
	r.mu.Unlock()
	time.Sleep(time.Millisecond) // as long as a transaction
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inUse--
	for i, c := range counts {
		if i > 0 && counts[i-1].Kind > c.Kind {
			return -1, time.Time{}, errors.New("not in order")
		}
		if now.Sub(r.since[c.Name]).Abs() >= c.Rate.Per {
			r.since[c.Name], r.used[c.Name] = now, 0
		}
		if r.used[c.Name] >= c.Rate.Max {
			return i, r.since[c.Name].Add(c.Rate.Per), nil
		}
	}
	for _, c := range counts {
		r.used[c.Name]++
	}
	return -1, time.Time{}, nil
}

func newCounter() (*limits.Counter, *rows) {
	r := &rows{since: map[string]time.Time{}, used: map[string]int{}}
	return limits.New(limits.Config{Store: r, Now: time.Now, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()}), r
}

func person(name string, most int) ledger.LimitCount {
	return ledger.LimitCount{Kind: ledger.LimitPerson, Name: name, Level: flow.Public, Rate: ledger.Rate{Max: most, Per: time.Minute}}
}

// What exceeds a limit needs no query until the window ends, or the limit is changed.
func TestAFloodCostsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, r := newCounter()
		for range 3 {
			require.NoError(t, l.Count(t.Context(), person("ann", 3)))
		}
		for range 1000 {
			var reached *limits.Reached
			require.ErrorAs(t, l.Count(t.Context(), person("ann", 3)), &reached)
			require.Positive(t, reached.Wait)
		}
		require.Equal(t, 4, r.asked)
		require.NoError(t, l.Count(t.Context(), person("ann", 4)), "the owner has raised the limit")
		time.Sleep(time.Minute)
		require.NoError(t, l.Count(t.Context(), person("ann", 3)))
	})
}

// A clock that was a year ahead and is set right limits nobody for a year.
func TestAClockThatIsSetBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &rows{since: map[string]time.Time{}, used: map[string]int{}}
		ahead := 365 * 24 * time.Hour
		l := limits.New(limits.Config{Store: r, Now: func() time.Time { return time.Now().Add(ahead).Round(0) }, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
		require.NoError(t, l.Count(t.Context(), person("ann", 1)))
		var reached *limits.Reached
		require.ErrorAs(t, l.Count(t.Context(), person("ann", 1)), &reached)
		ahead = 0
		require.NoError(t, l.Count(t.Context(), person("ann", 1)))
	})
}

// Whoever waits as long as they were told is no longer limited.
func TestTheTimeToWaitIsEnough(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, _ := newCounter()
		require.NoError(t, l.Count(t.Context(), person("ann", 1)))
		for pause := time.Duration(0); pause < 59*time.Second; pause += 7 * time.Second {
			time.Sleep(7*time.Second - 300*time.Millisecond)
			var reached *limits.Reached
			if errors.As(l.Count(t.Context(), person("ann", 1)), &reached) {
				require.Zero(t, reached.Wait%time.Second)
				require.Less(t, time.Until(reached.Until), reached.Wait+time.Millisecond)
				require.GreaterOrEqual(t, reached.Wait, time.Until(reached.Until))
			}
		}
	})
}

// What has no limit is not counted.
func TestWithoutALimitNothingIsCounted(t *testing.T) {
	t.Parallel()
	l, r := newCounter()
	require.NoError(t, l.Count(t.Context(), person("ann", 0), person("ann", 0)))
	require.Zero(t, r.asked)
	without := limits.New(limits.Config{Now: time.Now, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
	require.NoError(t, without.Count(t.Context(), person("ann", 1)))
	require.NoError(t, without.Count(t.Context(), person("ann", 1)))
}

// A process counts one event at a time, and the counts of an event in one order, so that replicas never deadlock. An event whose
// context ends does not wait.
func TestOneProcessCountsInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, r := newCounter()
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				agent := ledger.LimitCount{Kind: ledger.LimitAgent, Name: "main", Rate: ledger.Rate{Max: 100, Per: time.Minute}}
				if err := l.Count(t.Context(), person(fmt.Sprint(i), 5), agent); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, l.Count(gone, person("late", 5)), context.Canceled)
		all.Wait()
		require.Equal(t, 1, r.most)
		require.Equal(t, 20, r.asked)
	})
}

// The text says what was too much, and nothing about anybody else.
func TestWords(t *testing.T) {
	t.Parallel()
	for kind, want := range map[ledger.LimitKind]string{
		ledger.LimitPerson:       "You sent more than 30 messages in 1 minute, so I did not accept the last one. Please try again in 20 seconds.",
		ledger.LimitConversation: "I can't accept more messages in this conversation at the moment. Please try again in 20 seconds.",
		ledger.LimitAgent:        "I can't accept more messages at the moment. Please try again in 20 seconds.",
		ledger.LimitToken:        "this token made more than 30 requests in 1 minute; try again in 20 seconds",
	} {
		r := limits.Reached{LimitCount: ledger.LimitCount{Kind: kind, Name: "secret", Rate: ledger.Rate{Max: 30, Per: time.Minute}}, Wait: 20 * time.Second}
		require.Equal(t, want, r.Error())
		require.NotContains(t, r.Error()+r.Reason(), "secret")
	}
}
