package slack

import (
	"context"
	"slices"
	"sync"
)

const (
	// maxPending is how many events may wait to be accepted. What comes beyond is not
	// taken and not confirmed, so that Slack gives it again.
	maxPending = 2048
	// acceptParallel is how many conversations are given to the acceptor at once.
	acceptParallel = 64
)

// lanes keep the events of one conversation in their order while different
// conversations go on side by side. Safe for concurrent use.
type lanes struct {
	slots chan struct{} // one for each event that is being accepted

	mu      sync.Mutex
	waiting map[string][]*ticket // by conversation; the first one's turn it is
	pending int
}

// ticket is an event's place in its conversation.
type ticket struct {
	lanes *lanes
	lane  string
	turn  chan struct{} // closed when it is the first
}

func newLanes() *lanes {
	return &lanes{slots: make(chan struct{}, acceptParallel), waiting: map[string][]*ticket{}}
}

// take gives the next place in a conversation, or false if too many wait already.
func (l *lanes) take(lane string) (*ticket, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending >= maxPending {
		return nil, false
	}
	l.pending++
	t := &ticket{lanes: l, lane: lane, turn: make(chan struct{})}
	l.waiting[lane] = append(l.waiting[lane], t)
	if len(l.waiting[lane]) == 1 {
		close(t.turn)
	}
	return t, true
}

// wait returns once everything before it in the conversation has left.
func (t *ticket) wait(ctx context.Context) error {
	select {
	case <-t.turn:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// leave makes room for the next. It must be called once, whether the turn came or not.
func (t *ticket) leave() {
	l := t.lanes
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending--
	queue := l.waiting[t.lane]
	at := slices.Index(queue, t)
	queue = slices.Delete(queue, at, at+1)
	if len(queue) == 0 {
		delete(l.waiting, t.lane)
		return
	}
	l.waiting[t.lane] = queue
	if at == 0 {
		close(queue[0].turn)
	}
}

// slot waits until few enough are being accepted; call the result to give it back.
func (l *lanes) slot(ctx context.Context) (free func(), err error) {
	select {
	case l.slots <- struct{}{}:
		return func() { <-l.slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
