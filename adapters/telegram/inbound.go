package telegram

import (
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/go-telegram/bot/models"

	"sluice/adapters"
	"sluice/sessions"
)

// generalTopic is the thread id of a forum's General topic. Messages there carry
// no thread id, and sendMessage refuses it; only sendChatAction takes it.
const generalTopic = 1

// errMalformed is the error for an update without the fields that every message has.
var errMalformed = errors.New("update without chat or message id")

// events converts an update to the port's events. Other kinds of update, service messages and the bot's own messages
// give none.
func (k *intake) events(u *update, self *models.User) ([]adapters.Inbound, error) {
	var in adapters.Inbound
	var ok bool
	var err error
	switch {
	case u.MessageReaction != nil:
		return k.reactions(u)
	case u.CallbackQuery != nil:
		in, ok, err = k.pressed(u.CallbackQuery)
		in.Unread = u.unread
	default:
		in, ok, err = k.normalise(u, self)
	}
	if err != nil || !ok {
		return nil, err
	}
	return []adapters.Inbound{in}, nil
}

// normalise converts a message to an Inbound.
func (k *intake) normalise(u *update, self *models.User) (in adapters.Inbound, ok bool, err error) {
	m, edited := u.message()
	if m == nil {
		return in, false, nil
	}
	if m.Chat.ID == 0 || m.ID == 0 {
		return in, false, errMalformed
	}
	if m.From != nil && m.From.ID == self.ID {
		return in, false, nil
	}
	in = adapters.Inbound{
		Event:     eventName(u, m, edited),
		Route:     k.route(m),
		Sender:    speaker(m),
		MessageID: messageID(m.ID),
		Edited:    edited,
		SentAt:    time.Unix(m.Date, 0),
		Unread:    u.unread,
	}
	if in.Migrated = migration(m); in.Migrated != nil {
		return in, true, nil
	}
	text, entities := m.Text, m.Entities
	if text == "" {
		text, entities = m.Caption, m.CaptionEntities
	}
	in.Attachments = attachments(m)
	if text == "" && len(in.Attachments) == 0 && in.Unread == "" {
		return in, false, nil // a service message, or a kind that agents can't use
	}
	mentioned := false
	if q, passed := m.passedOn(); passed {
		q.Text, q.Files = valid(text), fileNames(in.Attachments)
		in.Quotations = append(in.Quotations, q)
	} else {
		text, mentioned = stripMentions(text, entities, self)
		in.Text = valid(text)
	}
	if q := answered(m); q.Text != "" {
		in.Quotations = append(in.Quotations, q)
	}
	in.More = m.MediaGroupID != "" || (!edited && utf16Long(m.Text))
	in.Mentioned = mentioned || repliesTo(m, self) || in.Route.ChatType == sessions.Direct
	return in, true, nil
}

// fullText is the length in UTF-16 units from which a text may be the first part of a longer one that the sender's
// app has split: apps split at 4,096, or a little earlier at a space.
const fullText = 4000

func utf16Long(text string) bool {
	return len(text) >= fullText && len(utf16.Encode([]rune(text))) >= fullText // no text has more units than bytes
}

// eventName returns "<chat>/<message>", and for an edit "<chat>/<message>/edit/<update>": the edit's date has only
// whole seconds, and people can be faster.
func eventName(u *update, m *message, edited bool) string {
	name := strconv.FormatInt(m.Chat.ID, 10) + "/" + strconv.FormatInt(m.ID, 10)
	if edited {
		name += "/edit/" + strconv.FormatInt(u.ID, 10)
	}
	return name
}

func (k *intake) route(m *message) sessions.Route {
	r := sessions.Route{
		Channel: channelName, Account: k.cfg.Account, ChatType: chatType(m.Chat.Type),
		Conversation: conversation(m.Chat.ID), ReplyTo: messageID(m.ID), Title: valid(chatTitle(m.Chat)),
	}
	switch {
	case m.IsTopicMessage && m.ThreadID != 0:
		r.Thread = sessions.ThreadID(strconv.FormatInt(m.ThreadID, 10))
	case m.Chat.IsForum && r.ChatType == sessions.Group:
		r.Thread = sessions.ThreadID(strconv.Itoa(generalTopic))
	}
	// A thread id without is_topic_message only groups the replies to a message.
	return r
}

func chatType(t models.ChatType) sessions.ChatType {
	switch t {
	case models.ChatTypePrivate:
		return sessions.Direct
	case models.ChatTypeChannel:
		return sessions.Channel
	}
	return sessions.Group
}

func chatTitle(c models.Chat) string {
	if c.Title != "" {
		return c.Title
	}
	return strings.TrimSpace(c.FirstName + " " + c.LastName)
}

// speaker returns the sender: a chat if it speaks for itself (channel posts, anonymous admins), otherwise the user.
func speaker(m *message) sessions.Peer {
	switch {
	case m.SenderChat != nil:
		return peerOfChat(*m.SenderChat)
	case m.From != nil:
		return peerOf(*m.From)
	}
	return peerOfChat(m.Chat)
}

func peerOf(u models.User) sessions.Peer {
	return sessions.Peer{
		ID: sessions.UserID(strconv.FormatInt(u.ID, 10)), Name: valid(strings.TrimSpace(u.FirstName + " " + u.LastName)),
		Username: valid(u.Username), Bot: u.IsBot,
	}
}

func peerOfChat(c models.Chat) sessions.Peer {
	return sessions.Peer{ID: sessions.UserID(strconv.FormatInt(c.ID, 10)), Name: valid(chatTitle(c)), Username: valid(c.Username)}
}

func migration(m *message) *adapters.Migration {
	switch {
	case m.MigrateTo != 0:
		return &adapters.Migration{From: conversation(m.Chat.ID), To: conversation(m.MigrateTo)}
	case m.MigrateFrom != 0:
		return &adapters.Migration{From: conversation(m.MigrateFrom), To: conversation(m.Chat.ID)}
	}
	return nil
}

// realReply returns the message that m answers. In a topic, each message seems to reply to the service message that
// created the topic.
func realReply(m *message) *repliedMessage {
	if m.ReplyTo == nil || m.ReplyTo.ForumTopicCreated != nil || (m.IsTopicMessage && m.ReplyTo.ID == m.ThreadID) {
		return nil
	}
	return m.ReplyTo
}

func repliesTo(m *message, self *models.User) bool {
	r := realReply(m)
	return r != nil && r.From != nil && r.From.ID == self.ID
}

func conversation(chat int64) sessions.ConversationID {
	return sessions.ConversationID(strconv.FormatInt(chat, 10))
}

func messageID(id int64) sessions.PlatformMessageID {
	return sessions.PlatformMessageID(strconv.FormatInt(id, 10))
}

// valid replaces invalid UTF-8.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
