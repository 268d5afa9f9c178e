package chain

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"sluice/internal/pause"
)

// Rate is an amount for each period; zero is no limit.
type Rate struct {
	Amount int
	Per    time.Duration
}

// String is the rate as it is written in the configuration; an unlimited rate is empty.
func (r Rate) String() string {
	if r.Amount == 0 {
		return ""
	}
	per := r.Per.String()
	if strings.HasSuffix(per, "m0s") {
		per = strings.TrimSuffix(per, "0s")
	}
	return strconv.Itoa(r.Amount) + "/" + per
}

// Limits of a key.
type Limits struct {
	Requests, Tokens Rate
	Concurrent       int
}

// Limiter keeps a key below its limits. It counts for this process alone. It is safe for concurrent use.
type Limiter struct {
	now   func() time.Time
	slots chan struct{} // nil: any number of calls at the same time

	mu       sync.Mutex
	requests bucket
	tokens   bucket
}

// NewLimiter creates a limiter; nil if there is nothing to limit.
func NewLimiter(l Limits, now func() time.Time) *Limiter {
	if l == (Limits{}) {
		return nil
	}
	lim := &Limiter{now: now, requests: newBucket(l.Requests, now()), tokens: newBucket(l.Tokens, now())}
	if l.Concurrent > 0 {
		lim.slots = make(chan struct{}, l.Concurrent)
	}
	return lim
}

// try begins a call of about that many tokens if the limits allow it now.
func (l *Limiter) try(tokens int) bool {
	if l == nil {
		return true
	}
	if l.slots != nil {
		select {
		case l.slots <- struct{}{}:
		default:
			return false
		}
	}
	if l.take(tokens) > 0 {
		l.release()
		return false
	}
	return true
}

// acquire waits until the limits allow a call of about that many tokens, and begins it.
func (l *Limiter) acquire(ctx context.Context, tokens int) error {
	if l.slots != nil {
		select {
		case l.slots <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	for {
		wait := l.take(tokens)
		if wait <= 0 {
			return nil
		}
		if err := pause.Wait(ctx, wait); err != nil {
			l.release()
			return err
		}
	}
}

// take counts a call, or returns how long to wait for it.
func (l *Limiter) take(tokens int) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if wait = max(l.requests.wait(now, 1), l.tokens.wait(now, tokens)); wait > 0 {
		return wait
	}
	l.requests.left--
	l.tokens.left -= float64(tokens)
	return 0
}

// done ends a call. used is what it has really used; counted is the estimate that was counted for it.
func (l *Limiter) done(counted, used int) {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.tokens.left += float64(counted - used)
	l.mu.Unlock()
	l.release()
}

func (l *Limiter) release() {
	if l.slots != nil {
		<-l.slots
	}
}

// bucket fills with time, up to the amount of one period.
type bucket struct {
	rate Rate
	left float64 // below zero after a call that used more than was counted for it
	at   time.Time
}

func newBucket(r Rate, now time.Time) bucket {
	return bucket{rate: r, left: float64(r.Amount), at: now}
}

// wait is how long it takes until n are left. A call that alone exceeds the amount of a period waits for a full bucket.
func (b *bucket) wait(now time.Time, n int) time.Duration {
	if b.rate.Amount == 0 {
		b.left = 0
		return 0
	}
	full, per := float64(b.rate.Amount), float64(b.rate.Per)
	if past := now.Sub(b.at); past > 0 {
		b.left = min(full, b.left+full*float64(past)/per)
		b.at = now
	}
	missing := min(float64(n), full) - b.left
	if missing <= 0 {
		return 0
	}
	return time.Duration(missing/full*per) + 1
}
