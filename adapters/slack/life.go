package slack

import (
	"context"
	"sync"
	"time"
)

// life cancels the requests in progress when Run ends. Requests before the first Run, and between two of them, are handled
// as well. It is safe for concurrent use.
type life struct {
	mu     sync.Mutex
	ctx    context.Context // until the end of the next Run to end
	cancel context.CancelFunc
}

func newLife() *life {
	l := &life{}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// end cancels the requests in progress.
func (l *life) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancel()
	l.ctx, l.cancel = context.WithCancel(context.Background())
}

// within returns the context of a request that continues for some time after its caller has disconnected, but not after Run.
func (l *life) within(request context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(request), most)
	l.mu.Lock()
	defer l.mu.Unlock()
	stop := context.AfterFunc(l.ctx, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}
