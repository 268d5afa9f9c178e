package telegram

import (
	"sync"

	"sluice/sessions"
)

// keptOwn is how many of its last messages an adapter knows as its own.
const keptOwn = 1000

// ownMessages are the last messages that this process has sent, with their
// topics: a reaction tells neither whose message it is on nor in which topic. Safe for concurrent use.
type ownMessages struct {
	mu    sync.Mutex
	known map[ownMessage]sessions.ThreadID
	ring  []ownMessage
	next  int // the place in ring that is written next
}

type ownMessage struct {
	chat int64
	id   sessions.PlatformMessageID
}

func newOwnMessages() *ownMessages {
	return &ownMessages{known: make(map[ownMessage]sessions.ThreadID, keptOwn), ring: make([]ownMessage, keptOwn)}
}

// add notes a message and forgets the oldest.
func (o *ownMessages) add(chat int64, thread sessions.ThreadID, id sessions.PlatformMessageID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.known, o.ring[o.next])
	o.ring[o.next] = ownMessage{chat, id}
	o.known[o.ring[o.next]] = thread
	o.next = (o.next + 1) % keptOwn
}

// find reports whether a message is the bot's, and its topic.
func (o *ownMessages) find(chat int64, id sessions.PlatformMessageID) (thread sessions.ThreadID, own bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	thread, own = o.known[ownMessage{chat, id}]
	return thread, own
}
