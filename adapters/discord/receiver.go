package discord

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/adapters"
	"sluice/sessions"
)

// flushTime bounds the last saves of a run.
const flushTime = 5 * time.Second

// receiver is one run of the adapter. Its goroutines: one for each shard with a
// heart and a keeper of its position, and those of its lanes.
type receiver struct {
	*Adapter
	in      adapters.Acceptor
	gate    *gate
	lanes   *lanes
	turns   *turns
	cursors *cursors
	fetches chan struct{} // capacity: how many channels are fetched at a time after a silence
}

// run receives until ctx ends or a person must change something.
func (a *Adapter) run(ctx context.Context, in adapters.Acceptor) error {
	stored, positions, err := loadCursors(ctx, a.cfg.Cursors)
	if err != nil {
		return &adapters.Failure{Kind: adapters.Transient, Certain: true, Err: err}
	}
	g, err := a.newGate(ctx)
	if err != nil {
		return err
	}
	if err := a.retry(ctx, "ask who the bot is", func(ctx context.Context) error {
		_, err := a.whoami(ctx)
		return err
	}); err != nil {
		return err
	}
	a.state.start(g.info.Shards)
	group, ctx := errgroup.WithContext(ctx)
	r := &receiver{Adapter: a, in: in, gate: g, turns: newTurns(), cursors: stored, fetches: make(chan struct{}, maxFetches)}
	r.lanes = newLanes(ctx, r.flush)
	shards := make([]*shard, g.info.Shards)
	for id := range shards {
		s := r.newShard(id, len(shards), positions)
		shards[id] = s
		group.Go(func() error { return s.run(ctx) })
		group.Go(func() error { return s.keep(ctx) })
	}
	err = group.Wait()
	r.lanes.wait()
	for _, s := range shards {
		s.save(ctx)
	}
	return err
}

// flush saves a channel's place when its lane has come to its end. What could not be saved is
// fetched and accepted once more later, where it is known.
func (r *receiver) flush(ctx context.Context, channelID string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	if err := r.cursors.save(ctx, channelID); err != nil {
		r.cfg.Log.Warn("discord cursor not saved", "conversation", channelID, "error", err)
	}
}

// accept gives an event to the acceptor until it has it, or ctx ends. It reports whether the acceptor has it.
func (r *receiver) accept(ctx context.Context, in adapters.Inbound) bool {
	err := r.retry(ctx, "accept event", func(ctx context.Context) error {
		err := r.offer(ctx, in)
		if err != nil {
			r.metrics.event(r.cfg.Account, outcomeFailed)
		}
		return err
	})
	if err != nil {
		return false // the end of ctx: nothing else ends the trying
	}
	r.metrics.event(r.cfg.Account, outcomeAccepted)
	return true
}

// place is where something happened, without a message to answer.
func (r *receiver) place(ctx context.Context, channelID, guildID string) (route sessions.Route, err error) {
	err = r.retry(ctx, "find channel", func(ctx context.Context) error {
		route, err = r.route(ctx, channelID, guildID)
		return err
	})
	return route, err
}

// errPanic is a panic of who accepts.
var errPanic = errors.New("panic")
