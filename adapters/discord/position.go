package discord

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// sessionPrefix begins the names of sessions among the cursors.
const sessionPrefix = "session/"

// position is the position of a gateway session: which events have arrived, and up to which all are done. A broken
// connection resumes after the last one that arrived; a new process resumes after the last one that is done. It is
// safe for concurrent use.
type position struct {
	session string          // empty: no session to resume
	url     string          // the address for resuming; empty for the usual one
	moved   chan<- struct{} // signals that done has grown, if there is room; may be nil

	mu   sync.Mutex
	last int64     // sequence of the last event that arrived
	done int64     // all events up to this one are done
	open []*ticket // those after done, in order
	// behind counts the channels in which older messages may still have to be fetched. Only the beginning of a session
	// fetches them, so until they are fetched no new process resumes this session.
	behind int
}

// ticket is one event that arrived.
type ticket struct {
	seq  int64
	done bool
}

func newPosition(session, url string, seq int64, moved chan<- struct{}) *position {
	return &position{session: session, url: url, last: seq, done: seq, moved: moved}
}

// take notes the arrival of an event. The caller calls finish when the event is done.
func (p *position) take(seq int64) (finish func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := &ticket{seq: seq}
	p.last = max(p.last, seq)
	p.open = append(p.open, t)
	return func() { p.finish(t) }
}

func (p *position) finish(t *ticket) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t.done = true
	for len(p.open) > 0 && p.open[0].done {
		p.done = max(p.done, p.open[0].seq)
		p.open = p.open[1:]
	}
	select {
	case p.moved <- struct{}{}:
	default: // it is known already
	}
}

// caughtUp notes that all messages of a channel were fetched.
func (p *position) caughtUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.behind--
	select {
	case p.moved <- struct{}{}:
	default: // it is known already
	}
}

// seq returns the sequence of the last event that arrived.
func (p *position) seq() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// String returns the data with which a new process resumes: "<session> <sequence> <address>". It is empty if a new process
// must not resume.
func (p *position) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.session == "" || p.behind > 0 {
		return ""
	}
	return fmt.Sprintf("%s %d %s", p.session, p.done, p.url)
}

// parsePosition reads a result of String. For any other text it returns a position without a session.
func parsePosition(text string, moved chan<- struct{}) *position {
	parts := strings.Split(text, " ")
	if len(parts) != 3 {
		return newPosition("", "", 0, moved)
	}
	seq, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || seq < 0 || parts[0] == "" {
		return newPosition("", "", 0, moved)
	}
	return newPosition(parts[0], parts[2], seq, moved)
}
