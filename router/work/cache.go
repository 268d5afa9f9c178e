package work

import (
	"container/list"
	"sync"

	"sluice/sessions"
)

// sessionCache keeps opened sessions, the most recently used ones up to a limit. A cached session is used only if it
// equals the stored one, see claimer.open.
type sessionCache struct {
	mu    sync.Mutex
	limit int
	order *list.List // of *sessions.Session, most recent first
	byID  map[sessions.ID]*list.Element
}

func newSessionCache(limit int) *sessionCache {
	return &sessionCache{limit: limit, order: list.New(), byID: map[sessions.ID]*list.Element{}}
}

type cached struct {
	id      sessions.ID
	session *sessions.Session
}

func (c *sessionCache) get(id sessions.ID) (*sessions.Session, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byID[id]
	if !ok {
		return nil, false
	}
	c.order.MoveToFront(e)
	return e.Value.(cached).session, true
}

func (c *sessionCache) put(id sessions.ID, s *sessions.Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeLocked(id)
	c.byID[id] = c.order.PushFront(cached{id, s})
	for c.order.Len() > c.limit {
		c.removeLocked(c.order.Back().Value.(cached).id)
	}
}

func (c *sessionCache) removeLocked(id sessions.ID) {
	if e, ok := c.byID[id]; ok {
		c.order.Remove(e)
		delete(c.byID, id)
	}
}

// drop removes the sessions that match.
func (c *sessionCache) drop(match func(sessions.Record) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, e := range c.byID {
		if match(e.Value.(cached).session.Record()) {
			c.removeLocked(id)
		}
	}
}
