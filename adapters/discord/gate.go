package discord

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"time"

	"sluice/adapters"
	"sluice/internal/pause"
)

// gate limits how often shards identify: once in five seconds per bucket, and at most as often as the day's budget allows.
// A shard's bucket is its number modulo Discord's max_concurrency.
type gate struct {
	cfg     Config
	api     *api
	state   *state
	buckets []*bucket

	mu        sync.Mutex
	info      gatewayInfo
	remaining int
}

type bucket struct {
	turn chan struct{} // capacity 1: held by the one that identifies
	last time.Time     // of the last identify; only for the holder
}

// newGate asks Discord for the address and the number of shards.
func newGate(ctx context.Context, c *api) (*gate, error) {
	g := &gate{cfg: c.cfg, api: c, state: c.state}
	if err := g.api.retry(ctx, "get the address of the gateway", g.refresh); err != nil {
		return nil, err
	}
	for range min(max(1, g.info.Limit.MaxConcurrency), g.info.Shards) { // more would stay empty
		g.buckets = append(g.buckets, &bucket{turn: make(chan struct{}, 1)})
	}
	return g, nil
}

func (g *gate) refresh(ctx context.Context) error {
	var info gatewayInfo
	if g.cfg.GatewayURL == "" || g.cfg.Shards == 0 {
		if err := g.api.call(ctx, request{method: http.MethodGet, path: at("/gateway/bot")}, &info); err != nil {
			return err
		}
	} else {
		info.Limit.Remaining = 1 // without Discord's answer: it refuses too frequent identifies itself
	}
	info.URL = cmp.Or(g.cfg.GatewayURL, info.URL)
	info.Shards = min(max(1, cmp.Or(g.cfg.Shards, info.Shards)), MaxShards)
	if !isURL(info.URL, "wss", "ws") {
		return &adapters.Failure{Kind: adapters.Transient, Certain: true, Err: errNoGateway}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.info, g.remaining = info, info.Limit.Remaining
	return nil
}

func (g *gate) url() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.info.URL
}

// enter waits until a shard may identify, and holds its bucket until leave. It fails if ctx ends or the token is refused.
func (g *gate) enter(ctx context.Context, shard int) (leave func(identified bool), err error) {
	b := g.buckets[shard%len(g.buckets)]
	select {
	case b.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	leave = func(identified bool) {
		if identified {
			b.last = time.Now()
		}
		<-b.turn
	}
	if err := g.afford(ctx, shard); err != nil {
		leave(false)
		return nil, err
	}
	if !b.last.IsZero() && pause.Wait(ctx, time.Until(b.last.Add(g.cfg.pace.identify))) != nil {
		leave(false)
		return nil, context.Cause(ctx)
	}
	return leave, nil
}

// afford takes one identify from the day's budget. If that is used up, afford waits for the next day.
func (g *gate) afford(ctx context.Context, shard int) error {
	for !g.takeOne() {
		if err := g.api.retry(ctx, "get the address of the gateway", g.refresh); err != nil {
			return err
		}
		wait, left := g.budget()
		if left > 0 {
			continue
		}
		g.state.shard(shard, adapters.Retrying, "Discord allows no more gateway sessions today, waiting "+wait.Round(time.Second).String())
		g.cfg.Log.Error("discord allows no more gateway sessions today", "shard", shard, "wait", wait)
		if pause.Wait(ctx, max(wait, g.cfg.pace.firstPause)) != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

func (g *gate) takeOne() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.remaining <= 0 {
		return false
	}
	g.remaining--
	return true
}

func (g *gate) budget() (wait time.Duration, left int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return adapters.Wait(float64(g.info.Limit.ResetAfter), time.Millisecond), g.remaining
}
