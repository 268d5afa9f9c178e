package discordtest

import (
	"context"
	"net/http"
	"time"
)

// interactionTime is how long Discord waits for the first response.
const interactionTime = 3 * time.Second

// Command lets a person use a command of the bot's menu. It returns the interaction's token.
func (s *Server) Command(channelID string, person int, name, arguments string) string {
	data := obj{"id": "1", "name": name, "type": 1}
	if arguments != "" {
		data["options"] = []obj{{"name": "arguments", "type": 3, "value": arguments}}
	}
	return s.interact(channelID, person, 2, data, nil)
}

// Press lets a person press the button with a value below a message.
func (s *Server) Press(channelID, id string, person int, value string) string {
	s.mu.Lock()
	p := s.find(channelID, id)
	s.mu.Unlock()
	return s.interact(channelID, person, 3, obj{"custom_id": value, "component_type": 2}, p)
}

func (s *Server) interact(channelID string, person, kind int, data obj, on *post) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.world.channel(channelID)
	id := s.newID()
	token := "interaction-token-" + id
	s.world.hooks[token] = &hook{channel: ch, made: time.Now()}
	event := obj{
		"id": id, "application_id": AppID, "type": kind, "token": token, "version": 1, "channel_id": channelID,
		"data": data, "channel": s.world.json(ch),
	}
	if on != nil {
		event["message"] = on.raw
	}
	if ch.guild == "" {
		event["user"] = s.world.user(itoa(person))
	} else {
		event["guild_id"], event["member"] = ch.guild, s.world.member(itoa(person))
	}
	s.occur("INTERACTION_CREATE", ch.guild, event)
	return token
}

// Acked reports whether an interaction has its first response.
func (s *Server) Acked(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acked(token)
}

// WaitAcked waits until it has.
func (s *Server) WaitAcked(ctx context.Context, token string) error {
	return s.await(ctx, func() bool { return s.acked(token) })
}

func (s *Server) acked(token string) bool {
	h := s.world.hooks[token]
	return h != nil && h.acked
}

func (c *call) callback() {
	var b struct {
		Type int `json:"type"`
		Data struct {
			Flags int `json:"flags"`
		} `json:"data"`
	}
	if !c.decode(&b) {
		return
	}
	if c.opts.BeforeAck != nil {
		c.opts.BeforeAck()
	}
	c.mu.Lock()
	h := c.world.hooks[c.r.PathValue("interaction_token")]
	known := h != nil && time.Since(h.made) < interactionTime
	twice := known && h.acked
	if known && !twice {
		h.acked = true
		c.notify()
		if b.Type == 5 {
			h.original = c.newPost(h.channel, BotID, "")
			h.original.private = b.Data.Flags&flagEphemeral != 0
		}
	}
	c.mu.Unlock()
	switch {
	case !known:
		c.refuse(http.StatusNotFound, 10062, "Unknown interaction")
	case twice:
		c.refuse(http.StatusBadRequest, 40060, "Interaction has already been acknowledged.")
	default:
		c.answer(nil)
	}
}

// patchHook changes the response to a command, and so replaces "thinking…".
func (c *call) patchHook() {
	var b body
	if !c.decode(&b) {
		return
	}
	c.checkMessage(&b)
	c.mu.Lock()
	h := c.world.hooks[c.r.PathValue("webhook_token")]
	if h == nil || h.original == nil || c.r.PathValue("webhook_id") != AppID {
		c.mu.Unlock()
		c.refuse(http.StatusNotFound, 10015, "Unknown Webhook")
		return
	}
	p := h.original
	if p.own {
		p.raw["edited_timestamp"] = time.Now().UTC().Format(time.RFC3339Nano)
	}
	p.own = true
	b.apply(c.Server, p)
	c.notify()
	c.mu.Unlock()
	c.told(p)
	c.answer(p.raw)
}

// postHook adds a message to the response to a command.
func (c *call) postHook() {
	var b body
	if !c.decode(&b) {
		return
	}
	c.checkMessage(&b)
	c.mu.Lock()
	h := c.world.hooks[c.r.PathValue("webhook_token")]
	if h == nil || !h.acked {
		c.mu.Unlock()
		c.refuse(http.StatusNotFound, 10015, "Unknown Webhook")
		return
	}
	p := c.newPost(h.channel, BotID, b.text())
	p.own, p.private = true, b.Flags&flagEphemeral != 0
	b.apply(c.Server, p)
	c.notify()
	c.mu.Unlock()
	c.told(p)
	c.answer(p.raw)
}
