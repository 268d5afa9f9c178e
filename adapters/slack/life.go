package slack

import (
	"context"
	"sync"
	"time"
)

// life ends the requests that are being taken when Run ends. A request may come before Run and between two
// of them, and is taken then too. Safe for concurrent use.
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

// end ends the requests that are being taken now.
func (l *life) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancel()
	l.ctx, l.cancel = context.WithCancel(context.Background())
}

// within is the context of a request that goes on without its caller, for a while, but not beyond the end of Run.
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
