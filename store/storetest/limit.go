package storetest

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/policy/flow"
	"sluice/router/ledger"
)

// limitModel is what limits should do: for each name and level, when the window began and how many it has.
type limitModel map[string]*limitWindow

type limitWindow struct {
	started time.Time
	used    int
}

func (m limitModel) at(c ledger.LimitCount, rank int, now time.Time) *limitWindow {
	key := fmt.Sprint(c.Kind, "/", c.Name, "/", rank)
	w := m[key]
	if w == nil || w.used == 0 || !now.Before(w.started.Add(c.Rate.Per)) || w.started.After(now.Add(c.Rate.Per)) {
		w = &limitWindow{started: now}
		m[key] = w
	}
	return w
}

// count is the model of CountLimits.
func (m limitModel) count(counts []ledger.LimitCount, now time.Time) (full int, until time.Time) {
	for i, c := range counts {
		if w := m.at(c, c.Level.Rank(), now); w.used >= c.Rate.Max {
			return i, w.started.Add(c.Rate.Per)
		}
	}
	for _, c := range counts {
		for rank := c.Level.Rank(); rank <= flow.Restricted.Rank(); rank++ {
			m.at(c, rank, now).used++
		}
	}
	return -1, time.Time{}
}

// What limits count agrees with the model, for events of all levels, with windows that end and clocks that are set back.
func testLimits(t *testing.T, b *bundle) {
	model, round := limitModel{}, 0
	rapid.Check(t, func(t *rapid.T) {
		round++ // the database is the same in all rounds
		now := start
		for range rapid.IntRange(1, 12).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 20, 59, 60, 61, -30, -3600}).Draw(t, "seconds")) * time.Second)
			var counts []ledger.LimitCount
			level := rapid.SampledFrom(flow.Levels()).Draw(t, "level")
			for _, kind := range []ledger.LimitKind{ledger.LimitAgent, ledger.LimitPerson}[rapid.IntRange(0, 1).Draw(t, "kinds"):] {
				counts = append(counts, ledger.LimitCount{
					Kind: kind, Name: fmt.Sprint(round, "/", rapid.IntRange(1, 2).Draw(t, "name")), Level: level, Rate: ledger.Rate{Max: rapid.IntRange(1, 3).Draw(t, "max"), Per: time.Minute},
				})
			}
			want, ends := model.count(counts, now)
			full, until, err := b.CountLimits(b.ctx, counts, now)
			require.NoError(t, err)
			require.Equal(t, want, full)
			require.True(t, ends.Equal(until), "%s: %s", ends, until)
		}
	})
}

// Many at the same time never exceed a limit, and nobody is refused below it.
func testLimitsTogether(t *testing.T, b *bundle) {
	var counted, refused atomic.Int32
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			person := ledger.LimitCount{Kind: ledger.LimitPerson, Name: strconv.Itoa(i % 4), Level: flow.Internal, Rate: ledger.Rate{Max: 100, Per: time.Minute}}
			agent := ledger.LimitCount{Kind: ledger.LimitAgent, Name: "main", Level: flow.Internal, Rate: ledger.Rate{Max: 25, Per: time.Minute}}
			full, _, err := b.CountLimits(b.ctx, []ledger.LimitCount{agent, person}, at(1))
			switch {
			case err != nil:
				t.Error(err)
			case full < 0:
				counted.Add(1)
			default:
				refused.Add(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 25, counted.Load())
	require.EqualValues(t, 15, refused.Load())

	for i := range 4 {
		person := ledger.LimitCount{Kind: ledger.LimitPerson, Name: strconv.Itoa(i), Level: flow.Internal, Rate: ledger.Rate{Max: 100, Per: time.Minute}}
		for used := 0; ; used++ {
			full, _, err := b.CountLimits(b.ctx, []ledger.LimitCount{person}, at(1))
			require.NoError(t, err)
			if counted.Add(1); full >= 0 {
				break
			}
		}
	}
	require.EqualValues(t, 25+4*100-25+4, counted.Load(), "what was refused was not counted for the person either")
}

func testPruneLimits(t *testing.T, b *bundle) {
	c := ledger.LimitCount{Kind: ledger.LimitPerson, Level: flow.Public, Rate: ledger.Rate{Max: 1, Per: time.Minute}}
	for i, at := range []time.Time{at(1), at(100)} {
		c.Name = strconv.Itoa(i)
		full, _, err := b.CountLimits(b.ctx, []ledger.LimitCount{c}, at)
		require.NoError(t, err)
		require.Equal(t, -1, full)
	}
	b.prune(ledger.PruneLimits, at(50), 4)
	full, until, err := b.CountLimits(b.ctx, []ledger.LimitCount{c}, at(100))
	require.NoError(t, err)
	require.Equal(t, 0, full, "the other window is kept")
	require.True(t, until.Equal(at(100).Add(time.Minute)))
}
