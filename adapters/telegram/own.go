package telegram

import (
	"sync"

	"sluice/sessions"
)

// ownMax is how many of its last messages an adapter remembers.
const ownMax = 1000

// ownMessages has the last messages that this process has sent, with their topics: a reaction tells neither the
// writer of its message nor the topic. It is safe for concurrent use.
type ownMessages struct {
	mu    sync.Mutex
	known map[ownMessage]sessions.ThreadID
	ring  []ownMessage
	next  int // next index in ring
}

type ownMessage struct {
	chat int64
	id   sessions.PlatformMessageID
}

func newOwnMessages() *ownMessages {
	return &ownMessages{known: make(map[ownMessage]sessions.ThreadID, ownMax), ring: make([]ownMessage, ownMax)}
}

// add records a message and forgets the oldest.
func (o *ownMessages) add(chat int64, thread sessions.ThreadID, id sessions.PlatformMessageID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.known, o.ring[o.next])
	o.ring[o.next] = ownMessage{chat, id}
	o.known[o.ring[o.next]] = thread
	o.next = (o.next + 1) % ownMax
}

// find reports whether a message is from the bot, and returns its topic.
func (o *ownMessages) find(chat int64, id sessions.PlatformMessageID) (thread sessions.ThreadID, own bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	thread, own = o.known[ownMessage{chat, id}]
	return thread, own
}
