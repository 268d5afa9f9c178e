package auth

import (
	"context"
	"errors"
	"sync"
)

// ErrEnded is the cause of a context whose caller has signed out, or whose token was revoked or replaced.
var ErrEnded = errors.New("the caller has signed out, or the token was revoked or replaced")

// Live has the running requests of all callers. The requests of a caller end when the caller loses access, on whichever replica
// the access was revoked.
type Live struct {
	still func(ctx context.Context, who Caller) error

	mu   sync.Mutex
	open map[*watched]struct{}
}

type watched struct {
	who Caller
	end context.CancelCauseFunc
}

// Watch returns a context that ends when the caller loses their access. The function releases it.
func (l *Live) Watch(ctx context.Context, who Caller) (context.Context, func()) {
	ctx, end := context.WithCancelCause(ctx)
	w := &watched{who, end}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[w] = struct{}{}
	return ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.open, w)
		end(nil)
	}
}

// End ends the requests of the callers that match.
func (l *Live) End(match func(who Caller) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for w := range l.open {
		if match(w.who) {
			w.end(ErrEnded)
		}
	}
}

// Recheck ends the requests of callers who have lost their access on another replica. Each caller is looked up once. If the
// store fails, nobody is ended.
func (l *Live) Recheck(ctx context.Context) {
	type key struct{ name, signIn string }
	seen := map[key]Caller{}
	l.mu.Lock()
	for w := range l.open {
		seen[key{w.who.Name, w.who.SignIn}] = w.who
	}
	l.mu.Unlock()
	for k, who := range seen {
		if errors.Is(l.still(ctx, who), ErrUnknown) {
			l.End(func(c Caller) bool { return key{c.Name, c.SignIn} == k })
		}
	}
}
