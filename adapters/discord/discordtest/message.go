package discordtest

import (
	"encoding/json"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"time"
)

func (c *call) post() {
	var b body
	if !c.decode(&b) {
		return
	}
	c.checkMessage(&b)
	c.mu.Lock()
	ch := c.world.channel(c.r.PathValue("channel_id"))
	if ch == nil {
		c.mu.Unlock()
		c.refuse(http.StatusNotFound, 10003, "Unknown Channel")
		return
	}
	if b.text() == "" && len(c.files) == 0 {
		c.mu.Unlock()
		c.refuse(http.StatusBadRequest, 50006, "Cannot send an empty message")
		return
	}
	nonce, _ := b.Nonce.(string)
	if old := ch.byNonce(nonce); old != nil && b.EnforceNonce {
		c.mu.Unlock()
		c.answer(old.raw)
		return
	}
	p := c.newPost(ch, BotID, b.text())
	p.own, p.nonce, p.content = true, nonce, c.files
	b.apply(c.Server, p)
	c.announce("MESSAGE_CREATE", p, c.withNonce(p))
	c.mu.Unlock()
	c.told(p)
	c.answer(c.withNonce(p))
}

// told calls the hook without the lock.
func (c *call) told(p *post) {
	if c.opts.OnSent != nil {
		c.mu.Lock()
		m := p.shown()
		c.mu.Unlock()
		c.opts.OnSent(m)
	}
}

func (s *Server) withNonce(p *post) obj {
	out := clone(p.raw)
	if p.nonce != "" {
		out["nonce"] = p.nonce
	}
	return out
}

func clone(o obj) obj {
	var out obj
	_ = json.Unmarshal(encode(o), &out) // what was encoded can be decoded
	return out
}

func (ch *channel) byNonce(nonce string) *post {
	for _, p := range ch.messages {
		if nonce != "" && p.nonce == nonce && time.Since(p.at) < nonceWindow {
			return p
		}
	}
	return nil
}

// newPost makes a message. The caller holds mu.
func (s *Server) newPost(ch *channel, author, text string) *post {
	now := time.Now()
	p := &post{id: s.newID(), channel: ch, at: now}
	p.raw = obj{
		"id": p.id, "channel_id": ch.id, "type": typeDefault, "content": text, "author": s.world.user(author),
		"timestamp": now.UTC().Format(time.RFC3339Nano), "edited_timestamp": nil, "tts": false, "mention_everyone": false,
		"mentions": s.mentionsIn(text), "mention_roles": roleMentions(text), "attachments": []obj{}, "embeds": []obj{},
		"pinned": false, "flags": 0, "components": []obj{},
	}
	ch.messages = append(ch.messages, p)
	return p
}

// apply sets the content of a message from the bot's request.
func (b *body) apply(s *Server, p *post) {
	p.raw["content"], p.raw["flags"] = b.text(), b.Flags
	p.raw["components"] = b.Components
	if b.Components == nil {
		p.raw["components"] = []obj{}
	}
	if b.Reference != nil {
		p.raw["type"] = typeReply
		p.raw["message_reference"] = obj{"message_id": b.Reference.MessageID, "channel_id": p.channel.id}
	}
	var files []obj
	for name, raw := range p.content {
		files = append(files, s.attachment(p, name, "", raw))
	}
	if files != nil {
		p.raw["attachments"] = files
	}
}

func (s *Server) attachment(p *post, name, kind string, content []byte) obj {
	out := obj{
		"id": s.newID(), "filename": name, "size": len(content),
		"url": s.url + "/files/" + p.channel.id + "/" + p.id + "/" + name, "proxy_url": "",
	}
	if kind != "" {
		out["content_type"] = kind
	}
	return out
}

func (c *call) edit() {
	var b body
	if !c.decode(&b) {
		return
	}
	c.checkMessage(&b)
	c.mu.Lock()
	p := c.find(c.r.PathValue("channel_id"), c.r.PathValue("message_id"))
	if p == nil || !p.own {
		c.mu.Unlock()
		c.refuse(http.StatusNotFound, 10008, "Unknown Message")
		return
	}
	b.apply(c.Server, p)
	p.raw["edited_timestamp"] = time.Now().UTC().Format(time.RFC3339Nano)
	c.announce("MESSAGE_UPDATE", p, p.raw)
	c.mu.Unlock()
	c.told(p)
	c.answer(p.raw)
}

// find returns an existing message. The caller holds mu.
func (s *Server) find(channelID, id string) *post {
	ch := s.world.channel(channelID)
	if ch == nil {
		return nil
	}
	at := slices.IndexFunc(ch.messages, func(p *post) bool { return p.id == id && !p.deleted })
	if at < 0 {
		return nil
	}
	return ch.messages[at]
}

// history handles GET messages: the oldest ones after an id, newest first.
func (c *call) history() {
	q := c.r.URL.Query()
	limit, err := strconv.Atoi(or(q.Get("limit"), "50"))
	if err != nil || limit < 1 || limit > 100 {
		c.violate("GET messages with limit %q", q.Get("limit"))
		limit = 50
	}
	c.mu.Lock()
	ch := c.world.channel(c.r.PathValue("channel_id"))
	var page []*post
	if ch != nil {
		for _, p := range ch.messages {
			if !p.deleted && !p.private && above(p.id, q.Get("after")) && (q.Get("before") == "" || above(q.Get("before"), p.id)) {
				page = append(page, p)
			}
		}
	}
	sort.Slice(page, func(i, j int) bool { return above(page[j].id, page[i].id) })
	if q.Has("before") { // the newest of them
		page = page[max(0, len(page)-limit):]
	}
	page = page[:min(limit, len(page))]
	slices.Reverse(page)
	out := make([]obj, 0, len(page))
	for _, p := range page {
		raw := clone(p.raw)
		if c.opts.HistoryNonces {
			raw = c.withNonce(p)
		}
		out = append(out, raw)
	}
	c.mu.Unlock()
	if ch == nil {
		c.refuse(http.StatusNotFound, 10003, "Unknown Channel")
		return
	}
	c.answer(out)
}

// message handles GET of one message.
func (c *call) message() {
	c.mu.Lock()
	var raw obj
	if p := c.find(c.r.PathValue("channel_id"), c.r.PathValue("message_id")); p != nil && !p.private {
		raw = clone(p.raw)
	}
	c.mu.Unlock()
	if raw == nil {
		c.refuse(http.StatusNotFound, 10008, "Unknown Message")
		return
	}
	c.answer(raw)
}

// above compares two ids; an empty one is below all.
func above(a, b string) bool { return len(a) > len(b) || len(a) == len(b) && a > b }

func or(v, otherwise string) string {
	if v == "" {
		return otherwise
	}
	return v
}
