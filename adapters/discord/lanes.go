package discord

import (
	"context"
	"sync"
)

// Bounds of the events that were received and not accepted yet. A push beyond them waits, and so the connection is not read.
const (
	maxLane  = 64    // events of one channel
	maxLanes = 4_096 // events of all channels
)

// lanes does the work of each channel in order, and that of different channels in parallel. Each channel with work has a
// goroutine; close waits for all.
type lanes struct {
	ctx  context.Context                       // ends them
	idle func(ctx context.Context, key string) // called when a lane is empty

	wg    sync.WaitGroup
	mu    sync.Mutex
	lanes map[string][]func(context.Context)
	total int
	room  chan struct{} // closed when there is room again; nil without waiters
}

func newLanes(ctx context.Context, idle func(ctx context.Context, key string)) *lanes {
	return &lanes{ctx: ctx, idle: idle, lanes: map[string][]func(context.Context){}}
}

// push adds work to a lane. It waits for room until all lanes end, so that work survives a connection that breaks meanwhile.
func (l *lanes) push(key string, do func(context.Context)) error {
	for {
		room, ok := l.tryPush(key, do)
		if ok {
			return nil
		}
		select {
		case <-room:
		case <-l.ctx.Done():
			return context.Cause(l.ctx)
		}
	}
}

func (l *lanes) tryPush(key string, do func(context.Context)) (room <-chan struct{}, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue, running := l.lanes[key]
	if len(queue) >= maxLane || l.total >= maxLanes {
		if l.room == nil {
			l.room = make(chan struct{})
		}
		return l.room, false
	}
	l.lanes[key] = append(queue, do)
	l.total++
	if !running {
		l.wg.Go(func() { l.work(key) })
	}
	return nil, true
}

// work does the work of a lane until it is empty or all lanes end. The rest was not accepted then.
func (l *lanes) work(key string) {
	for {
		do := l.next(key)
		if do == nil {
			l.idle(l.ctx, key)
			if l.end(key) {
				return
			}
			continue
		}
		do(l.ctx)
	}
}

// next takes the first task of a lane; nil if the lane is empty or all lanes end.
func (l *lanes) next(key string) func(context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue := l.lanes[key]
	if len(queue) == 0 || l.ctx.Err() != nil {
		return nil
	}
	l.lanes[key] = queue[1:]
	l.total--
	if l.room != nil {
		close(l.room)
		l.room = nil
	}
	return queue[0]
}

// end removes a lane, unless it has new work.
func (l *lanes) end(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lanes[key]) > 0 && l.ctx.Err() == nil {
		return false
	}
	l.total -= len(l.lanes[key])
	delete(l.lanes, key)
	return true
}

// wait waits for all goroutines. By then the lanes' context has ended, and push is no longer called.
func (l *lanes) wait() { l.wg.Wait() }
