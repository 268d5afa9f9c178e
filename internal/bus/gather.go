package bus

import (
	"strconv"
	"sync"
	"time"
)

const (
	// gatherFor is how long events wait for others where no one follows a session. Each event that goes to the
	// server by itself wakes several goroutines, which costs more than the event.
	gatherFor = 50 * time.Millisecond
	// gatherMax is how many events wait at most; one more sends them all.
	gatherMax = 256
)

// gatherer holds back the events of a gateway with an embedded server while no one there follows a session. What it holds is
// published in the order in which it came. Its timer's call holds mu, so that close waits for it.
type gatherer struct {
	publish func(subject string, text []byte)

	mu        sync.Mutex
	followers int
	marks     uint64 // published, see follow
	closed    bool
	timer     *time.Timer // nil: nothing waits
	waiting   []gathered
}

type gathered struct {
	subject string
	text    []byte
}

// emit publishes an event now or soon.
func (g *gatherer) emit(subject string, text []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, gathered{subject, text})
	switch {
	case g.followers > 0 || g.closed || len(g.waiting) > gatherMax:
		g.flush()
	case g.timer == nil:
		g.timer = time.AfterFunc(gatherFor, func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.flush()
		})
	}
}

// flush publishes what waits. The caller holds mu.
func (g *gatherer) flush() {
	if g.timer != nil {
		g.timer.Stop()
		g.timer = nil
	}
	for _, e := range g.waiting {
		g.publish(e.subject, e.text)
	}
	clear(g.waiting)
	g.waiting = g.waiting[:0]
}

// follow publishes what waits, and from now on each event at once, until the follower leaves. The mark is a number that is
// published behind what was emitted before.
func (g *gatherer) follow() (leave func(), mark uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.followers++
	g.flush()
	g.marks++
	g.publish(marksSubject, strconv.AppendUint(nil, g.marks, 10))
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.followers--
	}), g.marks
}

// close publishes what waits. Nothing is held back after it.
func (g *gatherer) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.flush()
}
