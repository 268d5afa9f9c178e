package slack

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

const (
	// maxPending is how many events may wait to be accepted. Further events are not confirmed, so that Slack repeats
	// them.
	maxPending = 2048
	// acceptParallel is how many events are accepted at once, each of another conversation.
	acceptParallel = 64
)

// lanes keep the events of a conversation in order, and handle different conversations in parallel. They are safe for
// concurrent use.
type lanes struct {
	slots chan struct{} // one for each event that is being accepted

	mu      sync.Mutex
	waiting map[string][]*ticket // by conversation; the first is being handled
	flying  map[string]*ticket   // by the event's id
	pending int
}

// ticket is an event's place in its conversation.
type ticket struct {
	lanes *lanes
	item  item
	first *ticket       // the earlier ticket of the same event, whose outcome this one shares; nil for a new event
	turn  chan struct{} // closed when it is the first of its conversation
	done  chan struct{} // closed when the event was handled
	err   error         // the outcome; read it after done
}

func newLanes() *lanes {
	return &lanes{slots: make(chan struct{}, acceptParallel), waiting: map[string][]*ticket{}, flying: map[string]*ticket{}}
}

// take queues an event in its conversation, or returns false if too many wait already. Events are queued by age, because
// two sockets, or two requests, may overtake each other. The caller must call pass with the ticket.
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

// pass calls accept when all earlier events of the conversation were handled, and returns its error. If an event is repeated
// while it waits or is being accepted, accept is called once.
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

// leave removes an event, and lets the next one begin.
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

// slot waits for one of acceptParallel slots. The caller frees it with the result.
func (l *lanes) slot(ctx context.Context) (free func(), err error) {
	select {
	case l.slots <- struct{}{}:
		return func() { <-l.slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
