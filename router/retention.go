package router

import (
	"context"
	"time"
)

// PruneKind is a kind of row that grows with every message.
type PruneKind string

// The kinds.
const (
	PruneRuns       PruneKind = "runs" // and what their events say besides their keys
	PruneDeliveries PruneKind = "deliveries"
)

// Prune is one step of removing old rows. A row that something unfinished still needs is left.
type Prune struct {
	Kind   PruneKind
	Before time.Time // rows that ended before it
	Events time.Time // of runs: what events before it say besides their keys
	After  int64     // the place at which the step before ended; 0: the oldest row
}

// Pruned is what a step has done.
type Pruned struct {
	Looked int   // rows that it looked at; not all of them may have been removed
	Next   int64 // of [Prune.After]
	More   bool  // there may be more
}

// Retention says how long what has ended is kept; 0 keeps for ever.
type Retention struct{ Events, Runs, Deliveries time.Duration }

const (
	// pruneEvery is the time between two rounds.
	pruneEvery = time.Hour
	// prunePause lets others write between two steps of a round.
	prunePause = 200 * time.Millisecond
)

// pruner removes old rows in small steps, one kind after the other. Its goroutine is that of [Router.Start].
type pruner struct {
	store Store
	now   func() time.Time
	keeps func() Retention
	mine  func() bool // this replica is the one that prunes
	step  func(kind PruneKind, err error, p Pruned)
}

// run prunes until ctx ends: first one pause after the start, then every hour.
func (p *pruner) run(ctx context.Context) {
	for rested(ctx, pruneEvery) == nil {
		p.round(ctx)
	}
}

// round goes once over all old rows.
func (p *pruner) round(ctx context.Context) {
	keep, now := p.keeps(), p.now()
	for kind, age := range map[PruneKind]time.Duration{PruneRuns: keep.Runs, PruneDeliveries: keep.Deliveries} {
		if age <= 0 {
			continue
		}
		step := Prune{Kind: kind, Before: now.Add(-age)}
		if keep.Events > 0 {
			step.Events = now.Add(-keep.Events)
		}
		for more := true; more && p.mine() && ctx.Err() == nil; {
			done, err := p.store.Prune(ctx, step)
			p.step(kind, err, done)
			if err != nil {
				break // the next round goes on
			}
			step.After, more = done.Next, done.More
			if more && rested(ctx, prunePause) != nil {
				return
			}
		}
	}
}
