package discord

import "container/list"

// lru is a map that drops its least recently used entries. It is not safe for concurrent use.
type lru[V any] struct {
	limit int
	order *list.List // of *entry[V], the last used first
	items map[string]*list.Element
}

type entry[V any] struct {
	key   string
	value V
}

func newLRU[V any](most int) *lru[V] {
	return &lru[V]{limit: most, order: list.New(), items: map[string]*list.Element{}}
}

func (c *lru[V]) get(key string) (v V, ok bool) {
	at, ok := c.items[key]
	if !ok {
		return v, false
	}
	c.order.MoveToFront(at)
	return at.Value.(*entry[V]).value, true
}

func (c *lru[V]) put(key string, v V) {
	if at, ok := c.items[key]; ok {
		at.Value.(*entry[V]).value = v
		c.order.MoveToFront(at)
		return
	}
	c.items[key] = c.order.PushFront(&entry[V]{key, v})
	if c.order.Len() > c.limit {
		c.drop(c.order.Back())
	}
}

func (c *lru[V]) remove(key string) {
	if at, ok := c.items[key]; ok {
		c.drop(at)
	}
}

func (c *lru[V]) drop(at *list.Element) {
	c.order.Remove(at)
	delete(c.items, at.Value.(*entry[V]).key)
}
