package work

import (
	"context"
	"hash/maphash"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/adapters"
	"sluice/router/place"
	"sluice/sessions"
)

const (
	ackWorkers = 4                // platform calls for reactions at a time
	ackQueue   = 64               // waiting reactions per worker; further ones are skipped
	ackTimeout = 10 * time.Second // bound of one platform call
)

// The outcomes of a reaction, as the metric names them.
const (
	ackShown   = "shown"
	ackRemoved = "removed"
	ackFailed  = "failed"
	ackSkipped = "skipped" // the queue was full
)

// Acks adds reactions to received messages and removes them. They are best effort: a reaction that does not fit into
// the queue is skipped and counted, a failed one is not retried. Its goroutines are its workers, between Start and
// Stop; one worker handles each conversation, so that no reaction is removed before it was added.
type Acks struct {
	adapter  adapters.Finder
	settings func() *place.Settings
	log      *slog.Logger
	outcome  *prometheus.CounterVec // by channel and outcome
	seed     maphash.Seed
	queues   [ackWorkers]chan ack
	cancel   context.CancelFunc
	wg       sync.WaitGroup
}

// ack is one reaction to add or remove.
type ack struct {
	reactor adapters.Reactor
	route   sessions.Route
	message sessions.PlatformMessageID
	how     adapters.Reaction
}

// NewAcks creates Acks. Nothing runs before Start.
func NewAcks(adapter adapters.Finder, settings func() *place.Settings, log *slog.Logger, outcome *prometheus.CounterVec) *Acks {
	a := &Acks{adapter: adapter, settings: settings, log: log, outcome: outcome, seed: maphash.MakeSeed(), cancel: func() {}}
	for i := range a.queues {
		a.queues[i] = make(chan ack, ackQueue)
	}
	return a
}

// Start starts the workers.
func (a *Acks) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	a.cancel = cancel
	for _, queue := range a.queues {
		a.wg.Go(func() { a.work(ctx, queue) })
	}
}

// Stop skips the waiting reactions, and returns when the current calls have ended.
func (a *Acks) Stop() {
	a.cancel()
	a.wg.Wait()
}

// put never blocks.
func (a *Acks) put(k ack) {
	n := maphash.String(a.seed, string(k.route.Lane())) % ackWorkers
	select {
	case a.queues[n] <- k:
	default:
		a.outcome.WithLabelValues(k.route.Channel, ackSkipped).Inc()
	}
}

func (a *Acks) work(ctx context.Context, queue <-chan ack) {
	for {
		select {
		case <-ctx.Done():
			return
		case k := <-queue:
			a.outcome.WithLabelValues(k.route.Channel, a.react(ctx, k)).Inc()
		}
	}
}

// react makes one call and returns its outcome.
func (a *Acks) react(ctx context.Context, k ack) (outcome string) {
	defer func() {
		if p := recover(); p != nil {
			a.log.Error("reaction panicked", "channel", k.route.Channel, "err", p, "stack", string(debug.Stack()))
			outcome = ackFailed
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, ackTimeout)
	defer cancel()
	if err := k.reactor.React(ctx, k.route, k.message, k.how); err != nil {
		a.log.Debug("reaction not shown", "channel", k.route.Channel, "err", err)
		return ackFailed
	}
	if k.how.Removed {
		return ackRemoved
	}
	return ackShown
}

// Heard shows the sender that their message was received, if the channel is configured to.
func (a *Acks) Heard(run sessions.Run) { a.show(run, false) }

// Ended removes the reaction after the run, if the channel is configured to.
func (a *Acks) Ended(run sessions.Run) {
	if a.settings().Channels[run.Route.Channel].AckRemove {
		a.show(run, true)
	}
}

func (a *Acks) show(run sessions.Run, removed bool) {
	emoji := a.settings().Channels[run.Route.Channel].AckReaction
	if emoji == "" || run.Input.MessageID == "" || run.Route.Handle != "" {
		return
	}
	found, _ := a.adapter(run.Route.Channel, run.Route.Account)
	if reactor, ok := found.(adapters.Reactor); ok {
		a.put(ack{reactor, run.Route, run.Input.MessageID, adapters.Reaction{Emoji: emoji, Removed: removed}})
	}
}
