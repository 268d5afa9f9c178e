package discord

import (
	"net/http"
	"sync"
	"time"
)

// maxBuckets bounds the number of limits. Beyond it, expired ones are dropped.
const maxBuckets = 4096

// limits keeps Discord's rate limits, so that a call that would be refused is not made. It is safe for concurrent use.
//
// Discord counts calls in buckets. The headers of a response name the bucket, and several routes may share one. Each major
// parameter has its own count.
type limits struct {
	now func() time.Time

	mu      sync.Mutex
	names   map[string]string    // method and route to the name of its bucket
	buckets map[string]time.Time // bucket and major parameter to when it is free again
	global  time.Time            // when the account may call again
}

func newLimits(now func() time.Time) *limits {
	return &limits{now: now, names: map[string]string{}, buckets: map[string]time.Time{}}
}

// exhausted returns how long to wait before a call, and whether the whole account must wait.
func (l *limits) exhausted(req request) (wait time.Duration, wide bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if wait := l.global.Sub(now); wait > 0 && !req.open { // calls without the token are not counted for the account
		return wait, true
	}
	return max(0, l.buckets[l.key(req)].Sub(now)), false
}

// key returns the bucket of a request.
func (l *limits) key(req request) string {
	route := req.method + " " + req.path.route
	if name, known := l.names[route]; known {
		return name + " " + req.path.major
	}
	return route + " " + req.path.major
}

// learn reads the rate limits in a response.
func (l *limits) learn(req request, h http.Header, refused *apiError) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if name := h.Get("X-RateLimit-Bucket"); name != "" {
		l.names[req.method+" "+req.path.route] = name
	}
	limited := refused != nil && refused.Status == http.StatusTooManyRequests
	switch {
	case limited && refused.Global:
		l.global = now.Add(refused.RetryAfter)
	case limited:
		l.block(l.key(req), now.Add(refused.RetryAfter), now)
	case h.Get("X-RateLimit-Remaining") == "0":
		l.block(l.key(req), now.Add(header(h, "X-RateLimit-Reset-After")), now)
	}
}

func (l *limits) block(key string, until, now time.Time) {
	if len(l.buckets) >= maxBuckets {
		for k, free := range l.buckets {
			if !free.After(now) {
				delete(l.buckets, k)
			}
		}
	}
	if len(l.buckets) < maxBuckets { // otherwise Discord repeats it
		l.buckets[key] = until
	}
}
