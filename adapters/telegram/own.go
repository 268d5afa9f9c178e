package telegram

import (
	"sync"

	"sluice/sessions"
)

// keptOwn is how many of its last messages an adapter knows as its own.
const keptOwn = 1000

// ownMessages are the last messages that this process has sent: the only way to
// tell a reaction to the bot's words from one to others'. Safe for concurrent use.
type ownMessages struct {
	mu    sync.Mutex
	known map[ownMessage]bool
	ring  []ownMessage
	next  int // the place in ring that is written next
}

type ownMessage struct {
	chat int64
	id   sessions.PlatformMessageID
}

func newOwnMessages() *ownMessages {
	return &ownMessages{known: make(map[ownMessage]bool, keptOwn), ring: make([]ownMessage, keptOwn)}
}

// add notes a message and forgets the oldest.
func (o *ownMessages) add(chat int64, id sessions.PlatformMessageID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.known, o.ring[o.next])
	o.ring[o.next] = ownMessage{chat, id}
	o.known[o.ring[o.next]] = true
	o.next = (o.next + 1) % keptOwn
}

func (o *ownMessages) has(chat int64, id sessions.PlatformMessageID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.known[ownMessage{chat, id}]
}
