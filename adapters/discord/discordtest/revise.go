package discordtest

import (
	"net/http"
	"slices"
)

func (c *call) deleteMessage() {
	c.mu.Lock()
	p := c.find(c.r.PathValue("channel_id"), c.r.PathValue("message_id"))
	if p != nil {
		c.take(p)
	}
	c.mu.Unlock()
	if p == nil {
		c.refuse(http.StatusNotFound, 10008, "Unknown Message")
		return
	}
	c.answer(nil)
}

func (c *call) react() {
	c.mu.Lock()
	p := c.find(c.r.PathValue("channel_id"), c.r.PathValue("message_id"))
	if emoji := c.r.PathValue("emoji_name"); p != nil && !slices.Contains(p.mine, emoji) {
		p.mine = append(p.mine, emoji)
		c.notify()
	}
	c.mu.Unlock()
	c.orUnknown(p)
}

func (c *call) unreact() {
	c.mu.Lock()
	p := c.find(c.r.PathValue("channel_id"), c.r.PathValue("message_id"))
	if p != nil {
		p.mine = slices.DeleteFunc(p.mine, func(e string) bool { return e == c.r.PathValue("emoji_name") })
		c.notify()
	}
	c.mu.Unlock()
	c.orUnknown(p)
}

func (c *call) orUnknown(p *post) {
	if p == nil {
		c.refuse(http.StatusNotFound, 10008, "Unknown Message")
		return
	}
	c.answer(nil)
}
