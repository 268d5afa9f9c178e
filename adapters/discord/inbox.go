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

// inbox brings events to the acceptor: those of a conversation one after the other, each until it is taken.
// Safe for concurrent use.
type inbox struct {
	cfg      Config
	metrics  *metrics
	api      *api
	lookup   *lookup
	messages *messages
	in       adapters.Acceptor
	turns    *turns
	cursors  *cursors
}

// run receives until ctx ends or a person must change something. Its goroutines: one for each shard with a
// heart and a keeper of its position, and those of its lanes.
func (a *Adapter) run(ctx context.Context, in adapters.Acceptor) error {
	stored, positions, err := loadCursors(ctx, a.cfg.Cursors)
	if err != nil {
		return &adapters.Failure{Kind: adapters.Transient, Certain: true, Err: err}
	}
	g, err := newGate(ctx, a.api)
	if err != nil {
		return err
	}
	if err := a.api.retry(ctx, "ask who the bot is", func(ctx context.Context) error {
		_, err := a.bot.whoami(ctx)
		return err
	}); err != nil {
		return err
	}
	a.state.start(g.info.Shards)
	group, ctx := errgroup.WithContext(ctx)
	b := &inbox{cfg: a.cfg, metrics: a.metrics, api: a.api, lookup: a.lookup, messages: a.messages, in: in, turns: newTurns(), cursors: stored}
	queues := newLanes(ctx, b.flush)
	fetches := make(chan struct{}, maxFetches)
	shards := make([]*shard, g.info.Shards)
	for id := range shards {
		s := &shard{
			cfg: a.cfg, state: a.state, metrics: a.metrics, api: a.api, bot: a.bot, lookup: a.lookup, messages: a.messages,
			posted: a.sender.posted, acks: a.sender.acks, gate: g, lanes: queues, inbox: b, fetches: fetches,
			id: id, of: len(shards), name: sessionName(id, len(shards)),
		}
		s.restore(positions)
		shards[id] = s
		group.Go(func() error { return s.run(ctx) })
		group.Go(func() error { return s.keep(ctx) })
	}
	err = group.Wait()
	queues.wait()
	for _, s := range shards {
		s.save(ctx)
	}
	return err
}

// flush saves a channel's place when its lane has come to its end. What could not be saved is
// fetched and accepted once more later, where it is known.
func (b *inbox) flush(ctx context.Context, channelID string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	if err := b.cursors.save(ctx, channelID); err != nil {
		b.cfg.Log.Warn("could not save a discord cursor", "conversation", channelID, "error", err)
	}
}

// accept gives an event to the acceptor until it has it, or ctx ends. It reports whether the acceptor has it.
func (b *inbox) accept(ctx context.Context, in adapters.Inbound) bool {
	err := b.api.retry(ctx, "accept event", func(ctx context.Context) error {
		err := b.offer(ctx, in)
		if err != nil {
			b.metrics.event(b.cfg.Account, outcomeFailed)
		}
		return err
	})
	if err != nil {
		return false // the end of ctx: nothing else ends the trying
	}
	b.metrics.event(b.cfg.Account, outcomeAccepted)
	return true
}

// place is where something happened, without a message to answer.
func (b *inbox) place(ctx context.Context, channelID, guildID string) (route sessions.Route, err error) {
	err = b.api.retry(ctx, "find channel", func(ctx context.Context) error {
		route, err = b.lookup.route(ctx, channelID, guildID)
		return err
	})
	return route, err
}

// errPanic is a panic of the acceptor.
var errPanic = errors.New("panic")
