package discord

import (
	"net/http"
	"sync"
	"time"
)

// maxBuckets bounds what is remembered of limits; beyond it, those that are over are forgotten.
const maxBuckets = 4096

// limits remembers what Discord said of its rate limits, so that a call which
// would be refused is not made. Safe for concurrent use.
//
// Discord counts by bucket: its name comes with an answer's headers, and several
// routes may share one. A bucket is counted for each major parameter alone.
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

// exhausted says how long not to call, 0 if a call may be made now, and whether that goes for the whole account.
func (l *limits) exhausted(req request) (wait time.Duration, wide bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if wait := l.global.Sub(now); wait > 0 && !req.open { // calls without the token are not counted for the account
		return wait, true
	}
	return max(0, l.buckets[l.key(req)].Sub(now)), false
}

// key is where a request is counted.
func (l *limits) key(req request) string {
	route := req.method + " " + req.path.route
	if name, known := l.names[route]; known {
		return name + " " + req.path.major
	}
	return route + " " + req.path.major
}

// learn takes what an answer says.
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
	if len(l.buckets) < maxBuckets { // else Discord says it again
		l.buckets[key] = until
	}
}
