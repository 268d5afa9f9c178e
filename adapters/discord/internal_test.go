package discord

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// In whatever order events are finished: done is the last one before the first that is open.
func TestPositionIsWhatIsDone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "events")
		p := newPosition("s", "u", 10, nil)
		finish := make([]func(), n)
		for i := range n {
			finish[i] = p.take(int64(11 + i))
		}
		open := map[int]bool{}
		for i := range n {
			open[i] = true
		}
		for _, i := range rapid.Permutation(indices(n)).Draw(t, "order") {
			if rapid.Bool().Draw(t, "finished") {
				finish[i]()
				delete(open, i)
			}
		}
		want := int64(10)
		for i := 0; i < n && !open[i]; i++ {
			want++
		}
		require.Equal(t, want, p.done)
		require.Equal(t, int64(10+n), p.seq())
	})
}

func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func FuzzParsePosition(f *testing.F) {
	for _, text := range []string{"", "s 5 wss://x", "s -1 u", "s x u", "a b c d", " 5 "} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := parsePosition(text, nil)
		if p.session == "" {
			require.Zero(t, p.seq())
			return
		}
		again := parsePosition(p.String(), nil)
		require.Equal(t, []any{p.session, p.url, p.done}, []any{again.session, again.url, again.done})
	})
}

func FuzzReadText(f *testing.F) {
	for _, text := range []string{"<@1> hi", "<@!1>", "a <@1> b", "<#5> <:x:1> </a b:1> <t:1:R>", "<@1><@1>", "<<@1>>", "\xff<@1>", "<t:999999999999>"} {
		f.Add(text)
	}
	self := &user{ID: "1"}
	f.Fuzz(func(t *testing.T, text string) {
		got, named := reader{places: newPlaces(), self: self, message: &message{}}.read(text)
		require.True(t, utf8.ValidString(got))
		require.Equal(t, strings.TrimSpace(got), got)
		require.Equal(t, strings.Contains(text, "<@1>") || strings.Contains(text, "<@!1>"), named)
		if !named && !strings.Contains(text, "<") {
			require.Equal(t, strings.TrimSpace(valid(text)), got, "a text without markup stays as it is")
		}
	})
}

// Each lane keeps its order, whatever waits in others, and all is done.
func TestLanesKeepOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.IntRange(0, 4), 0, 300).Draw(t, "keys")
		var mu sync.Mutex
		got := map[string][]int{}
		idle := map[string]int{}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		l := newLanes(ctx, func(_ context.Context, key string) {
			mu.Lock()
			defer mu.Unlock()
			idle[key]++
		})
		want := map[string][]int{}
		for i, k := range keys {
			key := strconv.Itoa(k)
			want[key] = append(want[key], i)
			require.NoError(t, l.push(key, func(context.Context) {
				mu.Lock()
				defer mu.Unlock()
				got[key] = append(got[key], i)
			}))
		}
		l.wait()
		require.Equal(t, want, got)
		for key := range want {
			require.Positive(t, idle[key])
		}
		require.Zero(t, l.total)
		require.Empty(t, l.lanes)
	})
}

func TestPushEndsWithTheLanes(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	l := newLanes(ctx, func(context.Context, string) {})
	for range maxLane + 1 {
		require.NoError(t, l.push("a", func(ctx context.Context) { <-ctx.Done() }))
	}
	ended := make(chan error, 1)
	go func() { ended <- l.push("a", func(context.Context) {}) }()
	cancel()
	// Either it found the room that the end made, or it was told of the end.
	if err := <-ended; err != nil {
		require.ErrorIs(t, err, context.Canceled)
	}
	l.wait()
}

func TestLRUForgetsTheOldest(t *testing.T) {
	t.Parallel()
	c := newLRU[int](2)
	c.put("a", 1)
	c.put("b", 2)
	c.get("a")
	c.put("c", 3)
	_, ok := c.get("b")
	require.False(t, ok)
	a, ok := c.get("a")
	require.True(t, ok)
	require.Equal(t, 1, a)
	c.remove("a")
	_, ok = c.get("a")
	require.False(t, ok)
}

func TestPauses(t *testing.T) {
	t.Parallel()
	pauses := Config{pace: defaultPace}.retryPolicy().Pauses()
	for range 20 {
		d := pauses.NextBackOff()
		require.GreaterOrEqual(t, d, defaultPace.firstPause)
		require.LessOrEqual(t, d, defaultPace.longest*5/4)
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	require.True(t, later("10", "9"))
	require.False(t, later("9", "9"))
	require.Equal(t, "0", previous("0"))
	require.Equal(t, "41", previous("42"))
	at := time.UnixMilli(1_700_000_000_123)
	require.Equal(t, at, idTime(snowflake(at), time.Time{}))
	for _, id := range []string{"", "0x1", "01", "-1", "1 ", "99999999999999999999"} {
		require.False(t, isID(id), id)
	}
}

func TestTurns(t *testing.T) {
	t.Parallel()
	turns := newTurns()
	ctx, cancel := context.WithCancel(t.Context())
	done, err := turns.take(ctx, "a")
	require.NoError(t, err)
	other, err := turns.take(ctx, "b")
	require.NoError(t, err, "another conversation does not wait")
	other()
	got := make(chan error, 1)
	go func() {
		_, err := turns.take(ctx, "a")
		got <- err
	}()
	cancel()
	require.ErrorIs(t, <-got, context.Canceled)
	done()
	require.Empty(t, turns.held)
}
