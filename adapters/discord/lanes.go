package discord

import (
	"context"
	"sync"
)

// Bounds of what was received and is not yet accepted. A push that would go
// beyond one waits, and so the connection is not read on.
const (
	maxLane  = 64    // events of one channel
	maxLanes = 4_096 // events of all channels
)

// lanes does the work for each channel in its order, and for channels side by
// side. There is a goroutine for each channel that has something to do; close waits for all.
type lanes struct {
	ctx  context.Context                       // ends them
	idle func(ctx context.Context, key string) // called when a lane has nothing more to do

	wg    sync.WaitGroup
	mu    sync.Mutex
	lanes map[string][]func(context.Context)
	total int
	room  chan struct{} // closed when there is room again; nil if nobody waits
}

func newLanes(ctx context.Context, idle func(ctx context.Context, key string)) *lanes {
	return &lanes{ctx: ctx, idle: idle, lanes: map[string][]func(context.Context){}}
}

// push puts work at a lane's end. It waits for room till all end: a connection that breaks
// in the meantime takes nothing with it.
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

// work works through a lane until it is empty or all lanes end. What is left then was not accepted.
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

// end forgets a lane, unless it has got new work in the meantime.
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

// wait waits for all goroutines; the lanes' context has ended, and nobody pushes any more.
func (l *lanes) wait() { l.wg.Wait() }
