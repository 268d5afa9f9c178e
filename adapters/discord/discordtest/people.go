package discordtest

import (
	"context"
	"regexp"
	"strings"
	"time"
)

// Say lets a person write in a channel and returns the message's id. It does not wait until the adapter has the message.
func (s *Server) Say(channelID string, person int, text string) string {
	return s.Write(Writing{Channel: channelID, Person: person, Text: text})
}

// Writing is one message of a person.
type Writing struct {
	Channel string
	Person  int
	Text    string
	ReplyTo string // a message in the channel
	Bot     bool   // the person is a program
	Webhook bool
	File    string // name of a file that comes with it
	MIME    string
	Content []byte
	Extra   map[string]any // further fields of the message, over all others
}

// Write lets a person write. The channel must exist.
func (s *Server) Write(w Writing) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.world.channel(w.Channel)
	author := itoa(w.Person)
	if w.Bot {
		s.world.user(author)["bot"] = true
	}
	p := s.newPost(ch, author, w.Text)
	if w.Webhook {
		p.raw["webhook_id"] = author
	}
	if w.File != "" {
		p.content = map[string][]byte{w.File: w.Content}
		p.raw["attachments"] = []obj{s.attachment(p, w.File, w.MIME, w.Content)}
	}
	if to := s.find(w.Channel, w.ReplyTo); to != nil {
		p.raw["type"], p.raw["referenced_message"] = typeReply, to.raw
		p.raw["message_reference"] = obj{"message_id": to.id, "channel_id": ch.id}
	}
	if s.opts.HideContent && ch.guild != "" && !strings.Contains(w.Text, "<@"+BotID+">") {
		p.raw["content"] = ""
	}
	for k, v := range w.Extra {
		p.raw[k] = v
	}
	s.announce("MESSAGE_CREATE", p, p.raw)
	return p.id
}

// announce sends a message's event to the sessions of its shard. The caller holds mu.
func (s *Server) announce(kind string, p *post, raw obj) {
	data := clone(raw)
	if p.channel.guild != "" {
		data["guild_id"] = p.channel.guild
		if author, ok := data["author"].(obj); ok && data["webhook_id"] == nil {
			data["member"] = without(s.world.member(author["id"].(string)), "user")
		}
	}
	s.occur(kind, p.channel.guild, data)
}

// occur sends an event to the sessions of a guild's shard, or of the first shard for direct chats. Events before the bot's
// first connection are sent when it connects. The caller holds mu.
func (s *Server) occur(kind, guildID string, data obj) {
	if len(s.identified) == 0 {
		s.held = append(s.held, func() { s.occur(kind, guildID, data) })
	}
	for _, se := range s.sessions {
		if guildID == "" && se.shard == 0 || guildID != "" && ownsGuild(se) {
			s.emit(se, kind, data)
		}
	}
	s.notify()
}

// Occur sends an event of any kind to all sessions.
func (s *Server) Occur(kind string, data map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, se := range s.sessions {
		s.emit(se, kind, data)
	}
}

// Repeat sends a message's event again.
func (s *Server) Repeat(channelID, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.find(channelID, id); p != nil {
		s.announce("MESSAGE_CREATE", p, p.raw)
	}
}

// Edit lets a message's writer change it.
func (s *Server) Edit(channelID, id, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.find(channelID, id); p != nil {
		p.raw["content"], p.raw["mentions"] = text, s.mentionsIn(text)
		p.raw["edited_timestamp"] = time.Now().UTC().Format(time.RFC3339Nano)
		s.announce("MESSAGE_UPDATE", p, p.raw)
	}
}

// Embed lets Discord add a link's preview to a message, which is an update too.
func (s *Server) Embed(channelID, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.find(channelID, id); p != nil {
		p.raw["embeds"] = []obj{{"type": "link", "url": "https://example.org"}}
		s.announce("MESSAGE_UPDATE", p, p.raw)
	}
}

// Delete deletes a message.
func (s *Server) Delete(channelID, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.find(channelID, id); p != nil {
		s.take(p)
	}
}

// take removes a message. The caller holds mu.
func (s *Server) take(p *post) {
	p.deleted = true
	data := obj{"id": p.id, "channel_id": p.channel.id}
	if p.channel.guild != "" {
		data["guild_id"] = p.channel.guild
	}
	s.occur("MESSAGE_DELETE", p.channel.guild, data)
}

// React lets a person add a reaction to a message, or with removed remove it.
func (s *Server) React(channelID, id string, person int, emoji string, removed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.find(channelID, id)
	if p == nil {
		return
	}
	data := obj{
		"user_id": itoa(person), "channel_id": channelID, "message_id": id,
		"emoji": obj{"id": nil, "name": emoji}, "burst": false, "type": 0,
	}
	if p.channel.guild != "" {
		data["guild_id"] = p.channel.guild
	}
	if removed {
		s.occur("MESSAGE_REACTION_REMOVE", p.channel.guild, data)
		return
	}
	data["message_author_id"] = p.raw["author"].(obj)["id"]
	if p.channel.guild != "" {
		data["member"] = s.world.member(itoa(person))
	}
	s.occur("MESSAGE_REACTION_ADD", p.channel.guild, data)
}

// GiveRoles sets a person's roles in the guild.
func (s *Server) GiveRoles(person int, roles ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.roles[itoa(person)] = roles
}

var userMention, roleMention = regexp.MustCompile(`<@!?(\d+)>`), regexp.MustCompile(`<@&(\d+)>`)

func (s *Server) mentionsIn(text string) []obj {
	out := []obj{}
	for _, m := range userMention.FindAllStringSubmatch(text, -1) {
		out = append(out, s.world.user(m[1]))
	}
	return out
}

func roleMentions(text string) []string {
	out := []string{}
	for _, m := range roleMention.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// Shown returns the bot's current messages in a channel, in order.
func (s *Server) Shown(channelID string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown(channelID)
}

func (s *Server) shown(channelID string) []Message {
	var out []Message
	if ch := s.world.channel(channelID); ch != nil {
		for _, p := range ch.messages {
			if p.own && !p.deleted {
				out = append(out, p.shown())
			}
		}
	}
	return out
}

// WaitShown is Shown once there are at least n.
func (s *Server) WaitShown(ctx context.Context, channelID string, n int) ([]Message, error) {
	var out []Message
	err := s.await(ctx, func() bool {
		out = s.shown(channelID)
		return len(out) >= n
	})
	return out, err
}

// OpenThread makes a thread in a channel. With told, its event is sent.
func (s *Server) OpenThread(id, parent, name string, told bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &channel{id: id, name: name, guild: s.world.channels[parent].guild, parent: parent, kind: kindThread}
	s.world.channels[id] = c
	if told {
		s.occur("THREAD_CREATE", c.guild, s.world.json(c))
	}
}

// OpenChannel makes a text channel in the guild.
func (s *Server) OpenChannel(id, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.channels[id] = &channel{id: id, name: name, guild: GuildID, kind: kindText}
}

// HideMembers refuses to list the guild's members, as Discord does without the Server Members intent.
func (s *Server) HideMembers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.hidden = true
}
