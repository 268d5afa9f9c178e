package slack

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"sluice/adapters"
)

const (
	// Slack takes about one message a second in a channel, and short bursts above that.
	postEvery = time.Second
	postBurst = 5
	// patience is how long a call may wait for its turn here; a longer wait is the caller's.
	patience = 3 * time.Second
	// maxPaces is how many methods and channels are remembered.
	maxPaces = 4096
)

const methodPost = "chat.postMessage"

// pacer keeps calls as far apart as Slack wants them: what it limited waits as
// long as it said, and messages to one channel are spaced. Safe for concurrent use.
type pacer struct {
	now func() time.Time

	mu    sync.Mutex
	paces map[paceKey]*pace
}

// paceKey is what Slack counts together: a method, and for messages the channel.
type paceKey struct {
	method, channel string
}

type pace struct {
	limit *rate.Limiter // nil for no spacing
	until time.Time     // Slack said: not before
	used  time.Time
}

func newPacer(now func() time.Time) *pacer {
	return &pacer{now: now, paces: map[paceKey]*pace{}}
}

// wait returns when the call may be made. A wait above patience, and any pause that
// Slack itself asked for, is a RateLimited failure at once: the call was not made.
func (p *pacer) wait(ctx context.Context, key paceKey) error {
	turn, delay, err := p.reserve(key)
	if err != nil {
		return err
	}
	if delay <= 0 || adapters.Sleep(ctx, delay) {
		return nil
	}
	turn.CancelAt(p.now())
	return &adapters.Failure{
		Kind: adapters.Transient, Certain: true,
		Err: fmt.Errorf("wait to call %s: %w", key.method, context.Cause(ctx)),
	}
}

// reserve takes the call's turn and tells how long it is until then.
func (p *pacer) reserve(key paceKey) (*rate.Reservation, time.Duration, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	at := p.pace(key, now)
	if pause := at.until.Sub(now); pause > 0 {
		return nil, 0, tooSoon(key, pause)
	}
	if at.limit == nil {
		return nil, 0, nil
	}
	turn := at.limit.ReserveN(now, 1)
	delay := turn.DelayFrom(now)
	if delay > patience {
		turn.CancelAt(now)
		return nil, 0, tooSoon(key, delay)
	}
	return turn, delay, nil
}

func tooSoon(key paceKey, pause time.Duration) *adapters.Failure {
	return &adapters.Failure{
		Kind: adapters.RateLimited, RetryAfter: pause, Certain: true,
		Err: fmt.Errorf("call %s: Slack asks to wait %s first", key.method, pause.Round(time.Millisecond)),
	}
}

// pause remembers that Slack wants no such call for some time.
func (p *pacer) pause(key paceKey, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	p.pace(key, now).until = now.Add(d)
}

// pace finds or makes what is remembered of a key; mu is held.
func (p *pacer) pace(key paceKey, now time.Time) *pace {
	at := p.paces[key]
	if at == nil {
		if len(p.paces) >= maxPaces {
			p.forget(now)
		}
		at = &pace{}
		if key.method == methodPost {
			at.limit = rate.NewLimiter(rate.Every(postEvery), postBurst)
		}
		p.paces[key] = at
	}
	at.used = now
	return at
}

// forget drops those that say nothing any more, and any one if all do; mu is held.
func (p *pacer) forget(now time.Time) {
	for key, at := range p.paces {
		if now.Sub(at.used) > postBurst*postEvery && !now.Before(at.until) {
			delete(p.paces, key)
		}
	}
	for key := range p.paces {
		if len(p.paces) <= maxPaces*3/4 { // so that not every new one pays for this
			return
		}
		delete(p.paces, key)
	}
}
