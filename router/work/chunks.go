package work

import (
	"strings"
	"sync"
	"time"

	"sluice/sessions"
)

// chunksEvery is how often the text of an answer is published while it is written: models send single words, too fast
// to be seen one by one.
const chunksEvery = 50 * time.Millisecond

// textChunks joins the text events of a run. The first one is published at once, further ones at most every chunksEvery, and
// all of them before any other event. Its timer stops at close.
type textChunks struct {
	publish func(sessions.Event) // must not block; called with the lock held, so that order is kept

	mu     sync.Mutex
	kind   sessions.EventType // of the waiting text
	text   strings.Builder    // the waiting text
	timer  *time.Timer        // set while text may not be published at once
	closed bool
}

// add takes one event; they come from one goroutine.
func (p *textChunks) add(e sessions.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.Type != p.kind {
		p.flush()
	}
	if e.Type != sessions.EventDelta && e.Type != sessions.EventThinking {
		p.publish(e)
		return
	}
	p.kind = e.Type
	p.text.WriteString(e.Text)
	if p.timer == nil && !p.closed {
		p.flush()
		p.timer = time.AfterFunc(chunksEvery, p.due)
	}
}

// due is called by the timer: it publishes the waiting text, and sets the timer again while text arrives.
func (p *textChunks) due() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.text.Len() == 0 {
		p.timer = nil
		return
	}
	p.flush()
	p.timer.Reset(chunksEvery)
}

// flush publishes the waiting text; the caller holds the lock.
func (p *textChunks) flush() {
	if p.text.Len() == 0 {
		return
	}
	p.publish(sessions.Event{Type: p.kind, Text: p.text.String()})
	p.text.Reset()
}

// close publishes the waiting text; nothing is published after it.
func (p *textChunks) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.flush()
	if p.timer != nil {
		p.timer.Stop()
	}
}
