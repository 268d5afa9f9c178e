package bus

import (
	"strconv"
	"sync"
	"time"
)

const (
	// gatherMax and gatherBytes are how many events wait at most, and how long their texts are together. What is
	// more is published with all that waits.
	gatherMax   = 1024
	gatherBytes = 2 << 20
	// gatherSpare is how many times as much may wait while the server starts. The oldest are then left out.
	gatherSpare = 4
)

// gatherer holds back the events of a gateway with an embedded server while no one there follows a session: each event that
// goes to the server wakes several goroutines, which costs more than the event, and most events are never read. What it
// holds is published in the order in which it came, and left out where the server would have forgotten it by then.
type gatherer struct {
	publish func(subject string, text []byte)
	embed   func()           // starts the server, and then calls opened; it does not block
	left    func(events int) // counts what is left out though it is not old
	now     func() time.Time

	mu        sync.Mutex
	open      bool // there is a server to publish to
	asked     bool // for the server
	followers int
	marks     uint64 // published, see follow
	waiting   []gathered
	bytes     int // of what waits
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
	case !g.asked:
		g.asked = true
		g.embed()
	}
}

// full reports whether more waits than so many times what may.
func (g *gatherer) full(times int) bool {
	return len(g.waiting) > times*gatherMax || g.bytes > times*gatherBytes
}

// forget leaves out what is old, and half of what waits where that is too much. The caller holds mu.
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
		g.left(n)
	}
}

// drop leaves out the first of the events that wait. The caller holds mu.
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

// flush publishes what waits. The caller holds mu.
func (g *gatherer) flush() {
	for _, e := range g.waiting {
		g.publish(e.subject, e.text)
	}
	clear(g.waiting)
	g.waiting, g.bytes = g.waiting[:0], 0
}

// opened says that there is a server now. What waits stays until it is wanted, or too much.
func (g *gatherer) opened() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = true
	if g.full(1) {
		g.forget()
		g.flush()
	}
}

// follow publishes what waits, and from now on each event at once, until the follower leaves. The mark is a number that is
// published behind what was emitted before. The server must run.
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
