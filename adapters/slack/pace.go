package slack

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"sluice/adapters"
	"sluice/internal/pause"
)

const (
	// Slack accepts about one message a second in a channel, and short bursts above that.
	postEvery = time.Second
	postBurst = 5
	// patience is how long a call may wait here. For a longer wait it fails, and the caller waits.
	patience = 3 * time.Second
	// maxPaces is how many methods and channels are kept.
	maxPaces = 4096
)

const methodPost = "chat.postMessage"

// pacer limits the rate of calls as Slack asks: calls wait after a rate limit, and messages to one channel are spaced. It is
// safe for concurrent use.
type pacer struct {
	now func() time.Time

	mu    sync.Mutex
	paces map[paceKey]*pace
}

// paceKey is the unit of Slack's rate limits: a method, and for messages also the channel.
type paceKey struct {
	method, channel string
}

type pace struct {
	limit *rate.Limiter // nil for no spacing
	until time.Time     // of Slack's last rate limit
	used  time.Time
}

func newPacer(now func() time.Time) *pacer {
	return &pacer{now: now, paces: map[paceKey]*pace{}}
}

// wait returns when the call may be made. If the wait would exceed patience, or Slack has asked for a pause, it returns a
// RateLimited failure at once.
func (p *pacer) wait(ctx context.Context, key paceKey) error {
	turn, delay, err := p.reserve(key)
	if err != nil {
		return err
	}
	if delay <= 0 || pause.Wait(ctx, delay) == nil {
		return nil
	}
	turn.CancelAt(p.now())
	return &adapters.Failure{
		Kind: adapters.Transient, Certain: true,
		Err: fmt.Errorf("wait to call %s: %w", key.method, context.Cause(ctx)),
	}
}

// reserve reserves a time for the call and returns how long to wait for it.
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

// pause records a rate limit of Slack.
func (p *pacer) pause(key paceKey, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	p.pace(key, now).until = now.Add(d)
}

// pace finds or makes the entry of a key. The caller holds mu.
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

// forget drops the entries that no longer limit anything. If too many remain, it drops any others. The caller holds mu.
func (p *pacer) forget(now time.Time) {
	for key, at := range p.paces {
		if now.Sub(at.used) > postBurst*postEvery && !now.Before(at.until) {
			delete(p.paces, key)
		}
	}
	for key := range p.paces {
		if len(p.paces) <= maxPaces*3/4 { // so that this is not repeated for each new entry
			return
		}
		delete(p.paces, key)
	}
}
