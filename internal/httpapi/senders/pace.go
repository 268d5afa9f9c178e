package senders

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/wire"
)

// What one token may send: this many alerts or notes a second for long, and this many at once.
const (
	perSecond = 100
	atOnce    = 5000
)

// Pace bounds how much each token sends. The zero value is not usable.
type Pace struct {
	now func() time.Time

	mu      sync.Mutex
	buckets map[string]*rate.Limiter // by the token's name; tokens are few and configured
}

// NewPace makes a Pace.
func NewPace(now func() time.Time) *Pace {
	return &Pace{now: now, buckets: map[string]*rate.Limiter{}}
}

// take counts n alerts or notes of a caller. If they are too many it refuses them all and tells when to try again.
func (p *Pace) take(w http.ResponseWriter, who auth.Caller, n int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	bucket, ok := p.buckets[who.Name]
	if !ok {
		bucket = rate.NewLimiter(perSecond, atOnce)
		p.buckets[who.Name] = bucket
	}
	at := p.now()
	if bucket.AllowN(at, n) {
		return nil
	}
	missing := float64(n) - bucket.TokensAt(at)
	w.Header().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(missing/perSecond)))))
	return wire.NewError(http.StatusTooManyRequests, "too_many_requests", "this token sends too much: at most 5,000 alerts and notes at once, and 100 a second for long; try again after the time in Retry-After")
}
