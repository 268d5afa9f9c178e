package slack

import (
	"context"
	"fmt"
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
	flying  map[string]*ticket   // by the event's id
	pending int
}

// ticket is an event's place in its conversation.
type ticket struct {
	lanes *lanes
	item  item
	first *ticket       // set if the same event has a place already: what becomes of it becomes of this
	turn  chan struct{} // closed when it is the first of its conversation
	done  chan struct{} // closed when it has left
	err   error         // what became of it; read it after done
}

func newLanes() *lanes {
	return &lanes{slots: make(chan struct{}, acceptParallel), waiting: map[string][]*ticket{}, flying: map[string]*ticket{}}
}

// take gives an event its place in its conversation, or false if too many wait already. It is the last,
// unless some that wait are younger: two sockets, and two requests, may overtake each other.
// The ticket must be used, with pass.
func (l *lanes) take(it item) (*ticket, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending >= maxPending {
		return nil, false
	}
	l.pending++
	t := &ticket{lanes: l, item: it, turn: make(chan struct{}), done: make(chan struct{})}
	if t.first = l.flying[it.id]; t.first != nil {
		return t, true
	}
	if it.id != "" {
		l.flying[it.id] = t
	}
	queue := l.waiting[it.lane]
	place := len(queue)
	for it.at != "" && place > 1 && queue[place-1].item.at > it.at {
		place--
	}
	l.waiting[it.lane] = slices.Insert(queue, place, t)
	if len(queue) == 0 {
		close(t.turn)
	}
	return t, true
}

// pass calls accept when everything before it in the conversation has left, and gives its error.
// Of an event that comes again while it waits or is being accepted, accept is called once.
func (t *ticket) pass(ctx context.Context, accept func() error) error {
	defer t.leave()
	before := t.turn
	if t.first != nil {
		before = t.first.done
	}
	select {
	case <-before:
	case <-ctx.Done():
		t.err = fmt.Errorf("wait for the event's turn: %w", context.Cause(ctx))
		return t.err
	}
	if t.first != nil {
		t.err = t.first.err
	} else {
		t.err = accept()
	}
	return t.err
}

// leave makes room for the next.
func (t *ticket) leave() {
	l := t.lanes
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending--
	close(t.done)
	if t.first != nil {
		return
	}
	if l.flying[t.item.id] == t {
		delete(l.flying, t.item.id)
	}
	queue := l.waiting[t.item.lane]
	at := slices.Index(queue, t)
	queue = slices.Delete(queue, at, at+1)
	if len(queue) == 0 {
		delete(l.waiting, t.item.lane)
		return
	}
	l.waiting[t.item.lane] = queue
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
