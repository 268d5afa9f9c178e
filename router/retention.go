package router

import (
	"context"
	"time"

	"sluice/internal/pause"
	"sluice/router/ledger"
	"sluice/router/place"
)

// age says how long the rows of a kind are kept.
type age struct {
	kind ledger.PruneKind
	keep time.Duration
}

// ages lists the kinds in the order in which a round prunes them: a kind comes before the rows that it refers to.
func ages(r place.Retention) []age {
	return []age{
		{ledger.PruneDeliveries, r.Deliveries},
		{ledger.PruneExchanges, r.Runs},
		{ledger.PruneChains, r.Runs},
		{ledger.PruneTriggers, r.Runs},
		{ledger.PruneHooks, hookAge(r.Runs)},
		{ledger.PruneAlerts, r.Runs},
		{ledger.PruneChecks, r.Runs},
		{ledger.PruneNodes, r.Runs},
		{ledger.PruneLimits, r.Limits},
		{ledger.PruneRuns, r.Runs},
		{ledger.PruneArchived, r.Archived},
		{ledger.PruneSessions, r.Sessions},
		{ledger.PruneMedia, r.Media},
		{ledger.PruneUsage, r.Usage},
		{ledger.PruneEvents, r.Events},
	}
}

// hookAge is how long requests to hooks are kept: as long as runs, but at least as long as a repetition must be noticed.
func hookAge(runs time.Duration) time.Duration {
	if runs <= 0 {
		return runs
	}
	return max(runs, ledger.HookWindow)
}

const (
	// pruneEvery is the time between two rounds.
	pruneEvery = time.Hour
	// prunePause lets other writers in between two steps of a round.
	prunePause = 200 * time.Millisecond
)

// pruneStore removes old rows, one step a call.
type pruneStore interface {
	Prune(ctx context.Context, p ledger.Prune) (ledger.Pruned, error)
}

// pruner removes old rows in small steps, one kind after the other. Its goroutine is that of [Router.Start].
type pruner struct {
	store pruneStore
	now   func() time.Time
	keeps func() place.Retention
	mine  func() bool // whether this replica is the one that prunes
	step  func(kind ledger.PruneKind, err error, p ledger.Pruned)
}

// run prunes every hour until ctx ends; the first round begins an hour after the start.
func (p *pruner) run(ctx context.Context) {
	for pause.Wait(ctx, pruneEvery) == nil {
		p.round(ctx)
	}
}

// round goes once over the old rows of each kind.
func (p *pruner) round(ctx context.Context) {
	now := p.now()
	for _, a := range ages(p.keeps()) {
		if a.keep > 0 {
			p.kind(ctx, ledger.Prune{Kind: a.kind, Before: now.Add(-a.keep)})
		}
	}
}

// kind prunes the old rows of one kind. After an error, the rest waits for the next round.
func (p *pruner) kind(ctx context.Context, step ledger.Prune) {
	for p.mine() && ctx.Err() == nil {
		done, err := p.store.Prune(ctx, step)
		p.step(step.Kind, err, done)
		if err != nil || !done.More || pause.Wait(ctx, prunePause) != nil {
			return
		}
		step.After = done.Next
	}
}

// memoryBatch is how many memories one sweep expires and deletes.
const memoryBatch = 1000

// sweepMemories ends expired memories, which reads ignore even before that, and deletes old versions.
func (r *Router) sweepMemories(ctx context.Context) {
	now, before := r.now(), time.Time{}
	if keep := r.settings.Load().Retention.Memories; keep > 0 {
		before = now.Add(-keep)
	}
	if _, err := r.store.SweepMemories(ctx, now, before, memoryBatch); err != nil && ctx.Err() == nil {
		r.log.Error("expired memories not ended", "err", err)
	}
}
