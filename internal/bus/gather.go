package bus

import (
	"strconv"
	"sync"
	"time"
)

const (
	// gatherMax and gatherBytes bound the number of waiting events and the total length of their texts. Beyond that,
	// all of them are published.
	gatherMax   = 1024
	gatherBytes = 2 << 20
	// gatherSpare is how many times more may wait while the server starts. Beyond that, the oldest are dropped.
	gatherSpare = 4
)

// gatherer holds back the events of a gateway with an embedded server while no one there follows a session: each
// event sent to the server wakes several goroutines, which costs more than the event, and most events are never read.
// It publishes them in order, without those that the server would have forgotten by then.
type gatherer struct {
	publish func(subject string, text []byte)
	embed   func()           // starts the server without blocking, and then calls opened
	dropped func(events int) // counts dropped events that are not old
	now     func() time.Time

	mu        sync.Mutex
	open      bool // there is a server to publish to
	requested bool // the server was requested
	followers int
	marks     uint64 // published marks, see follow
	waiting   []gathered
	bytes     int // total length of the waiting texts
}

type gathered struct {
	subject string
	text    []byte
	at      time.Time
}

// emit publishes an event now or later.
func (g *gatherer) emit(subject string, text []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, gathered{subject, text, g.now()})
	g.bytes += len(text)
	if g.open && g.followers > 0 {
		g.flush()
		return
	}
	if !g.full(1) {
		return
	}
	g.forget()
	switch {
	case !g.full(1):
	case g.open:
		g.flush()
	case !g.requested:
		g.requested = true
		g.embed()
	}
}

// full reports whether the waiting events exceed the limits times a factor.
func (g *gatherer) full(times int) bool {
	return len(g.waiting) > times*gatherMax || g.bytes > times*gatherBytes
}

// forget drops old events, and half of the rest if there are too many. The caller holds mu.
func (g *gatherer) forget() {
	old := g.now().Add(-eventsAge)
	n := 0
	for n < len(g.waiting) && g.waiting[n].at.Before(old) {
		n++
	}
	g.drop(n)
	if g.full(gatherSpare) {
		n = (len(g.waiting) + 1) / 2
		g.drop(n)
		g.dropped(n)
	}
}

// drop drops the first n waiting events. The caller holds mu.
func (g *gatherer) drop(n int) {
	if n == 0 {
		return
	}
	for _, e := range g.waiting[:n] {
		g.bytes -= len(e.text)
	}
	kept := copy(g.waiting, g.waiting[n:])
	clear(g.waiting[kept:])
	g.waiting = g.waiting[:kept]
}

// flush publishes the waiting events. The caller holds mu.
func (g *gatherer) flush() {
	for _, e := range g.waiting {
		g.publish(e.subject, e.text)
	}
	clear(g.waiting)
	g.waiting, g.bytes = g.waiting[:0], 0
}

// opened reports that the server runs now. Waiting events stay until a follower comes or there are too many.
func (g *gatherer) opened() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = true
	if g.full(1) {
		g.forget()
		g.flush()
	}
}

// follow publishes the waiting events, and from now on each event at once, until the follower leaves. The mark is a
// number that is published after all earlier events. The server must run.
func (g *gatherer) follow() (leave func(), mark uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.followers++
	g.forget()
	g.flush()
	g.marks++
	g.publish(marksSubject, strconv.AppendUint(nil, g.marks, 10))
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.followers--
	}), g.marks
}
