package slack

import (
	"context"
	"time"
)

// Plain is the plain text of mrkdwn, where ids are names in lower case.
func Plain(text, self string) (string, bool) {
	return plain(text, self, dictionary{
		user:    func(id string) string { return map[string]string{"U1": "Ada"}[id] },
		channel: func(id string) string { return map[string]string{"C1": "general"}[id] },
	})
}

// The translations of emoji.
var (
	EmojiOf   = emojiOf
	EmojiName = emojiName
)

// MaxPending is how many events may wait.
const MaxPending = maxPending

// Pacer spaces calls of chat.postMessage.
type Pacer struct{ p *pacer }

// NewPacer makes one on a clock.
func NewPacer(now func() time.Time) Pacer { return Pacer{newPacer(now)} }

// Post waits for the turn of a message to a channel.
func (p Pacer) Post(ctx context.Context, channel string) error {
	return p.p.wait(ctx, paceKey{methodPost, channel})
}

// Pause is what a 429 does.
func (p Pacer) Pause(channel string, d time.Duration) { p.p.pause(paceKey{methodPost, channel}, d) }

// Known is how many channels are remembered.
func (p Pacer) Known() int { return len(p.p.paces) }

// Lanes keep events in order.
type Lanes struct{ l *lanes }

// NewLanes makes them.
func NewLanes() Lanes { return Lanes{newLanes()} }

// Take gives an event its place; the result passes it.
func (l Lanes) Take(id, lane, at string) (pass func(context.Context, func() error) error, ok bool) {
	t, ok := l.l.take(item{id: id, lane: lane, at: at})
	if !ok {
		return nil, false
	}
	return t.pass, true
}

// Pending is how many wait, and in how many conversations.
func (l Lanes) Pending() (events, conversations int) { return l.l.pending, len(l.l.waiting) }

// Base is where the API is, with the slash at its end.
func (a *Adapter) Base() string { return a.cfg.APIBase }

// Names is a cache of names.
type Names struct{ c *cache[string] }

// NewNames makes one on a clock.
func NewNames(now func() time.Time) Names { return Names{newCache[string](now)} }

// Get is what is remembered, or what ask gives.
func (n Names) Get(key string, ask func() (string, bool)) string { return n.c.get(key, ask) }

// Known is how many are remembered.
func (n Names) Known() int { return len(n.c.known) }
