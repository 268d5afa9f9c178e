package discord

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// sessionPrefix begins the names under which sessions are kept among the cursors.
const sessionPrefix = "session/"

// position is where a gateway session stands: what has come, and up to where all of it
// is done with. A broken connection resumes after what has come; a new process
// after what is done. Safe for concurrent use.
type position struct {
	session string          // empty: no session to resume
	url     string          // where Discord wants it to be resumed; empty for the usual address
	moved   chan<- struct{} // told when done has grown, if there is room; may be nil

	mu   sync.Mutex
	last int64     // sequence of the last event that has come
	done int64     // all events up to this one are done with
	open []*ticket // those after done, in order
	// behind is in how many channels something from before the session may still have to be
	// fetched. Only a session's beginning makes that happen, so until then no new process resumes this one.
	behind int
}

// ticket is one event that has come.
type ticket struct {
	seq  int64
	done bool
}

func newPosition(session, url string, seq int64, moved chan<- struct{}) *position {
	return &position{session: session, url: url, last: seq, done: seq, moved: moved}
}

// take notes that an event has come. Calling finish says that it is done with.
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

// caughtUp says that a channel has nothing more to be fetched.
func (p *position) caughtUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.behind--
	select {
	case p.moved <- struct{}{}:
	default: // it is known already
	}
}

// seq is the sequence of the last event that has come.
func (p *position) seq() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// String is what a new process resumes by: "<session> <sequence> <address>"; empty if it must not.
func (p *position) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.session == "" || p.behind > 0 {
		return ""
	}
	return fmt.Sprintf("%s %d %s", p.session, p.done, p.url)
}

// parsePosition reads what String wrote; anything else gives a position without a session.
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
