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

// inbox passes events to the acceptor. It passes the events of a conversation one after the other, and repeats each until
// it is accepted. It is safe for concurrent use.
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

// run receives events until ctx ends or a person must change something. Its goroutines: for each shard a reader, a heartbeat
// and one that saves its position, and those of the lanes.
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

// flush saves a channel's position when its lane is empty. If this fails, the messages are fetched again later, and the
// acceptor recognises them.
func (b *inbox) flush(ctx context.Context, channelID string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	if err := b.cursors.save(ctx, channelID); err != nil {
		b.cfg.Log.Warn("could not save a discord cursor", "conversation", channelID, "error", err)
	}
}

// accept offers an event to the acceptor until it is accepted or ctx ends. It reports whether the event was accepted.
func (b *inbox) accept(ctx context.Context, in adapters.Inbound) bool {
	err := b.api.retry(ctx, "accept event", func(ctx context.Context) error {
		err := b.offer(ctx, in)
		if err != nil {
			b.metrics.event(b.cfg.Account, outcomeFailed)
		}
		return err
	})
	if err != nil {
		return false // ctx has ended: retrying ends for no other reason
	}
	b.metrics.event(b.cfg.Account, outcomeAccepted)
	return true
}

// place returns the route of an event that is not a message.
func (b *inbox) place(ctx context.Context, channelID, guildID string) (route sessions.Route, err error) {
	err = b.api.retry(ctx, "find channel", func(ctx context.Context) error {
		route, err = b.lookup.route(ctx, channelID, guildID)
		return err
	})
	return route, err
}

// errPanic is a panic of the acceptor.
var errPanic = errors.New("panic")
