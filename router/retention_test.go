package router

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"sluice/router/ledger"
	"sluice/router/place"

	"github.com/stretchr/testify/require"
)

// pruneSteps is a store that notes each step of a pruner and when it came.
type pruneSteps struct {
	began time.Time
	seen  []ledger.Prune
	when  []time.Duration
	most  map[ledger.PruneKind]int // pruneSteps until nothing is left
	fails ledger.PruneKind
}

var errPrune = errors.New("disk I/O error")

func (s *pruneSteps) Prune(_ context.Context, p ledger.Prune) (ledger.Pruned, error) {
	s.seen, s.when = append(s.seen, p), append(s.when, time.Since(s.began))
	if p.Kind == s.fails {
		return ledger.Pruned{}, errPrune
	}
	s.most[p.Kind]--
	return ledger.Pruned{Removed: 7, Next: p.After + "+", More: s.most[p.Kind] > 0}, nil
}

func (s *pruneSteps) kinds() (kinds []ledger.PruneKind) {
	for _, p := range s.seen {
		kinds = append(kinds, p.Kind)
	}
	return kinds
}

// prune lets a pruner work for a while; mine is asked before each step.
func (s *pruneSteps) prune(t *testing.T, keep place.Retention, mine func() bool, d time.Duration) (removed int, failed []error) {
	t.Helper()
	s.began = time.Now()
	day := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	p := pruner{store: s, now: func() time.Time { return day }, keeps: func() place.Retention { return keep }, mine: mine, step: func(_ ledger.PruneKind, err error, p ledger.Pruned) {
		removed += p.Removed
		if err != nil {
			failed = append(failed, err)
		}
	}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); p.run(ctx) }()
	time.Sleep(d)
	synctest.Wait()
	cancel()
	<-done
	return removed, failed
}

func always() bool { return true }

func TestPrunerGoesInPacedSteps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &pruneSteps{most: map[ledger.PruneKind]int{ledger.PruneRuns: 3, ledger.PruneDeliveries: 1}}
		removed, failed := s.prune(t, place.Retention{Runs: 48 * time.Hour, Deliveries: 24 * time.Hour}, always, pruneEvery+time.Minute)
		require.Empty(t, failed)
		require.Equal(t, 77, removed)
		runs := time.Date(2026, 5, 2, 12, 0, 0, 0, time.UTC)
		require.Equal(t, []ledger.Prune{
			{Kind: ledger.PruneDeliveries, Before: runs.Add(24 * time.Hour)},
			{Kind: ledger.PruneExchanges, Before: runs},
			{Kind: ledger.PruneChains, Before: runs},
			{Kind: ledger.PruneTriggers, Before: runs},
			{Kind: ledger.PruneHooks, Before: runs.Add(-5 * 24 * time.Hour)}, // a repetition is noticed for a week
			{Kind: ledger.PruneAlerts, Before: runs},
			{Kind: ledger.PruneChecks, Before: runs},
			{Kind: ledger.PruneNodes, Before: runs},
			{Kind: ledger.PruneRuns, Before: runs},
			{Kind: ledger.PruneRuns, Before: runs, After: "+"},
			{Kind: ledger.PruneRuns, Before: runs, After: "++"},
		}, s.seen, "what is kept for ever is not looked at")
		require.Equal(t, []time.Duration{pruneEvery, pruneEvery, pruneEvery, pruneEvery, pruneEvery, pruneEvery, pruneEvery, pruneEvery, pruneEvery, pruneEvery + prunePause, pruneEvery + 2*prunePause}, s.when)
	})
}

func TestPrunerStopsWhenItsPartitionIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &pruneSteps{most: map[ledger.PruneKind]int{ledger.PruneDeliveries: 100}}
		s.prune(t, place.Retention{Deliveries: time.Hour, Events: time.Hour}, func() bool { return len(s.seen) < 2 }, 3*pruneEvery)
		require.Equal(t, []ledger.PruneKind{ledger.PruneDeliveries, ledger.PruneDeliveries}, s.kinds())
	})
}

func TestPrunerGoesOnAfterAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &pruneSteps{most: map[ledger.PruneKind]int{}, fails: ledger.PruneSessions}
		_, failed := s.prune(t, place.Retention{Sessions: time.Hour, Events: time.Hour}, always, 2*pruneEvery+time.Minute)
		require.Equal(t, []error{errPrune, errPrune}, failed)
		require.Equal(t, []ledger.PruneKind{ledger.PruneSessions, ledger.PruneEvents, ledger.PruneSessions, ledger.PruneEvents}, s.kinds(), "the other kinds and the next round still come")
	})
}

func TestPrunerEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &pruneSteps{most: map[ledger.PruneKind]int{ledger.PruneSessions: 1 << 30}}
		s.prune(t, place.Retention{Sessions: time.Hour}, always, pruneEvery+prunePause*10)
		require.Len(t, s.seen, 11)
	})
}
