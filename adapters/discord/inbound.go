package discord

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"

	"sluice/adapters"
	"sluice/sessions"
)

// messages converts Discord's messages to events of the port. It is safe for concurrent use.
type messages struct {
	cfg     Config
	metrics *metrics
	state   *state
	api     *api
	bot     *identity
	lookup  *lookup
}

// normalise converts a new message, or with edited a changed one, to an Inbound. ok is false for notices of Discord and for
// messages of the bot itself. After an error, which is a failed call, the message may be retried.
func (ms *messages) normalise(ctx context.Context, m *message, edited bool) (in adapters.Inbound, ok bool, err error) {
	self, err := ms.bot.whoami(ctx)
	if err != nil {
		return in, false, err
	}
	if !isUserMessage(m) || m.Author == nil || m.Author.ID == self.ID {
		return in, false, nil
	}
	route, err := ms.lookup.route(ctx, m.ChannelID, m.GuildID)
	if err != nil {
		return in, false, err
	}
	if err := ms.lookup.ensureGuild(ctx, route.Space, self.ID); err != nil {
		return in, false, err
	}
	route.ReplyTo = sessions.PlatformMessageID(m.ID)
	in = adapters.Inbound{
		Event: m.ChannelID + "/" + m.ID, Route: route,
		Sender: peer(m.Author, m.Member), Roles: m.Member.roles(),
		MessageID: sessions.PlatformMessageID(m.ID), SentAt: m.at(), Unread: m.unread,
		Attachments: attachments(m),
	}
	in.Sender.Bot = in.Sender.Bot || m.WebhookID != ""
	if edited {
		at, name, _ := m.edited()
		in.Edited, in.SentAt = true, at
		in.Event += "/edit/" + name
	}
	ms.fill(&in, m, self)
	if in.Text == "" && len(in.Attachments) == 0 && len(m.Snapshots) == 0 && !in.Mentioned && !edited && in.Unread == "" {
		ms.noteEmpty(m, route)
		return in, false, nil
	}
	if in.Text != "" && !in.Mentioned {
		ms.state.advise("") // other messages are readable, so this one is really empty
	}
	return in, true, nil
}

// fill adds a message's text, its quotations, and whether it addresses the bot.
func (ms *messages) fill(in *adapters.Inbound, m *message, self *user) {
	words := reader{places: ms.lookup.places, guild: in.Route.Space, self: self, message: m}
	text, named := words.read(m.text())
	in.Text = text
	if m.program() { // its embeds belong to its text, but do not address anyone
		cards, _ := words.read(m.cards())
		in.Text = joined(text, cards)
	}
	in.Quotations = ms.quotations(in.Route.Space, m, self)
	own := known(ms.lookup.places, in.Route.Space, func(g *guildInfo) []string { return g.botRoles })
	in.Mentioned = named || in.Route.ChatType == sessions.Direct ||
		m.Reply != nil && m.Reply.Author != nil && m.Reply.Author.ID == self.ID ||
		slices.ContainsFunc(m.Mentions, func(u mentioned) bool { return u.ID == self.ID }) ||
		slices.ContainsFunc(m.RoleIDs, func(id string) bool { return slices.Contains(own, id) })
}

// isUserMessage reports whether a person or a program wrote a message. Other messages are notices of Discord.
func isUserMessage(m *message) bool {
	switch m.Type {
	case discordgo.MessageTypeDefault, discordgo.MessageTypeReply,
		discordgo.MessageTypeChatInputCommand, discordgo.MessageTypeContextMenuCommand: // other bots' answers
		return m.ID != "" && m.ChannelID != ""
	}
	return false
}

func (m *message) text() string {
	if m.Content == nil {
		return ""
	}
	return *m.Content
}

// noteEmpty shows in the state that an empty message arrived: a bot that may not read messages receives such ones.
func (ms *messages) noteEmpty(m *message, route sessions.Route) {
	empty := blank(m.Embeds) && blank(m.Components) && blank(m.Poll)
	if empty && route.ChatType != sessions.Direct && !m.Author.Bot {
		ms.state.advise(noContent)
	}
}

// route returns the route of a message. The conversation of a thread is its channel.
func (l *lookup) route(ctx context.Context, id, guildID string) (sessions.Route, error) {
	c, err := l.channel(ctx, id, guildID)
	if err != nil {
		return sessions.Route{}, err
	}
	r := sessions.Route{
		Channel: channelName, Account: l.cfg.Account, ChatType: sessions.Group,
		Conversation: sessions.ConversationID(id), Space: cmp.Or(c.GuildID, guildID), Title: title(c),
	}
	switch {
	case r.Space == "":
		r.ChatType = sessions.Direct
	case isThread(c) && c.ParentID != "":
		r.Conversation, r.Thread = sessions.ConversationID(c.ParentID), sessions.ThreadID(id)
		if parent, ok := l.places.channel(c.ParentID); ok {
			r.Title = title(parent) + " › " + r.Title
		}
	}
	return r, nil
}

func isThread(c channel) bool {
	switch c.Type {
	case discordgo.ChannelTypeGuildNewsThread, discordgo.ChannelTypeGuildPublicThread, discordgo.ChannelTypeGuildPrivateThread:
		return true
	}
	return false
}

func title(c channel) string {
	switch {
	case len(c.Recipients) > 0:
		return peer(&c.Recipients[0], nil).Name
	case c.Name == "":
		return ""
	case isThread(c):
		return valid(c.Name)
	}
	return "#" + valid(c.Name)
}

// peer returns a user with their name in the guild, or their global name.
func peer(u *user, m *member) sessions.Peer {
	name := cmp.Or(u.GlobalName, u.Username)
	if m != nil {
		name = cmp.Or(m.Nick, name)
	}
	return sessions.Peer{ID: sessions.UserID(u.ID), Name: valid(name), Username: valid(u.Username), Bot: u.Bot}
}

func (m *member) roles() []string {
	if m == nil {
		return nil
	}
	return m.Roles
}

// valid replaces invalid UTF-8.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
