package work

import (
	"container/list"
	"sync"

	"sluice/sessions"
)

// cachedBytes is about how much memory the sessions of a cache take together at most. One alone may take more.
const cachedBytes = 64 << 20

// sessionCache keeps opened sessions, the most recently used ones up to a limit of their number and one of their size. A cached
// session is used only if it equals the stored one, see claimer.open.
type sessionCache struct {
	mu       sync.Mutex
	limit    int
	maxBytes int
	bytes    int        // sum of the sizes
	order    *list.List // of *cached, most recent first
	byID     map[sessions.ID]*list.Element
}

func newSessionCache(limit, maxBytes int) *sessionCache {
	return &sessionCache{limit: limit, maxBytes: maxBytes, order: list.New(), byID: map[sessions.ID]*list.Element{}}
}

type cached struct {
	id      sessions.ID
	session *sessions.Session
	size    int // when it was last looked at
}

func (c *sessionCache) get(id sessions.ID) (*sessions.Session, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byID[id]
	if !ok {
		return nil, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached).session, true
}

func (c *sessionCache) put(id sessions.ID, s *sessions.Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeLocked(id)
	one := &cached{id, s, s.Size()}
	c.byID[id] = c.order.PushFront(one)
	c.bytes += one.size
	c.evictLocked()
}

// grown looks at the size of a session that was worked.
func (c *sessionCache) grown(id sessions.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byID[id]; ok {
		one := e.Value.(*cached)
		c.bytes -= one.size
		one.size = one.session.Size()
		c.bytes += one.size
		c.evictLocked()
	}
}

func (c *sessionCache) evictLocked() {
	for c.order.Len() > c.limit || c.bytes > c.maxBytes && c.order.Len() > 1 {
		c.removeLocked(c.order.Back().Value.(*cached).id)
	}
}

func (c *sessionCache) removeLocked(id sessions.ID) {
	if e, ok := c.byID[id]; ok {
		c.bytes -= e.Value.(*cached).size
		c.order.Remove(e)
		delete(c.byID, id)
	}
}

// drop removes the sessions that match.
func (c *sessionCache) drop(match func(sessions.Record) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, e := range c.byID {
		if match(e.Value.(*cached).session.Record()) {
			c.removeLocked(id)
		}
	}
}
