package telegram_test

import (
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-telegram/bot/models"
	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/adaptertest"
	"sluice/adapters/telegram"
	"sluice/adapters/telegram/telegramtest"
	"sluice/sessions"
)

func TestSuiteByPolling(t *testing.T) {
	t.Parallel()
	adaptertest.Run(t, func(t *testing.T) adaptertest.Platform { return newPlatform(t) })
}

func TestSuiteByWebhook(t *testing.T) {
	t.Parallel()
	adaptertest.Run(t, func(t *testing.T) adaptertest.Platform { return &hookedPlatform{newPlatform(t)} })
}

// suitePlatform is the fake as the suite sees it.
type suitePlatform struct {
	*telegramtest.Server
	people [3]telegramtest.User
	direct telegramtest.Chat
	group  telegramtest.Chat // with topics

	mu   sync.Mutex
	said map[string]models.Message // by event
}

// topic is the thread in the group.
const topic = 77

func newPlatform(t *testing.T) *suitePlatform {
	p := &suitePlatform{
		Server: telegramtest.Start(t, telegramtest.Options{}),
		people: [3]telegramtest.User{ada, {ID: 1002, FirstName: "Bea"}, {ID: 1003, FirstName: "Cyd", Username: "cyd"}},
		direct: telegramtest.Private(1001),
		group:  telegramtest.Chat{ID: -1001, Type: "supergroup", Title: "Choir", Forum: true},
		said:   map[string]models.Message{},
	}
	p.Join(p.direct)
	p.Join(p.group, topic)
	p.Appoint(p.group.ID, p.people[0], p.people[1])
	return p
}

// Adapter notices a deaf connection within a second and a half.
func (p *suitePlatform) Adapter(t *testing.T) adapters.Adapter {
	a, err := telegram.New(telegram.Config{
		Token: adapters.Secret(p.Token()), APIBase: p.URL(), Log: slog.New(slog.DiscardHandler),
		PollTimeout: time.Second, PollSlack: 500 * time.Millisecond,
	})
	require.NoError(t, err)
	t.Cleanup(a.Close)
	return a
}

func (p *suitePlatform) Limits() adaptertest.Limits {
	return adaptertest.Limits{
		Text: 4096, File: 50 << 20, Confirms: true, RetryAfter: true, Fails: true,
		Hears: true, Replies: true, Forwards: true, Edits: true, Reactions: true, Uploads: true,
	}
}

func (p *suitePlatform) Direct() sessions.Route { return direct("1001") }

func (p *suitePlatform) Group() sessions.Route {
	return sessions.Route{Channel: "telegram", Account: "default", ChatType: sessions.Group, Conversation: "-1001", Thread: "1"}
}

func (p *suitePlatform) Thread() sessions.Route {
	r := p.Group()
	r.Thread = sessions.ThreadID(strconv.Itoa(topic))
	return r
}

func (p *suitePlatform) Mention() string { return "@test0_bot" }

func (p *suitePlatform) Person(n int) sessions.Peer {
	u := p.people[n]
	return sessions.Peer{ID: sessions.UserID(strconv.FormatInt(u.ID, 10)), Name: u.FirstName, Username: u.Username}
}

func (p *suitePlatform) user(peer sessions.Peer) telegramtest.User {
	for _, u := range p.people {
		if strconv.FormatInt(u.ID, 10) == string(peer.ID) {
			return u
		}
	}
	panic("nobody has the id " + peer.ID)
}

func (p *suitePlatform) chat(place sessions.Route) telegramtest.Chat {
	if place.ChatType == sessions.Direct {
		return p.direct
	}
	return p.group
}

// message is an empty one of a person in a place.
func (p *suitePlatform) message(place sessions.Route, from sessions.Peer) models.Message {
	c, u := p.chat(place), p.user(from)
	m := models.Message{
		Chat: models.Chat{ID: c.ID, Type: models.ChatType(c.Type), Title: c.Title, IsForum: c.Forum},
		From: &models.User{ID: u.ID, FirstName: u.FirstName, Username: u.Username},
	}
	if place.Thread == p.Thread().Thread {
		m.MessageThreadID, m.IsTopicMessage = topic, true
	}
	if place.ReplyTo != "" {
		m.ReplyToMessage = p.replied(c.ID, place.ReplyTo)
	}
	return m
}

// replied is a message of the bot that somebody answers.
func (p *suitePlatform) replied(chat int64, id sessions.PlatformMessageID) *models.Message {
	for _, m := range p.Sent(chat) {
		if strconv.FormatInt(m.ID, 10) == string(id) {
			return &models.Message{ID: int(m.ID), From: &models.User{ID: 1000000, IsBot: true}, Text: m.Plain, Chat: models.Chat{ID: chat}}
		}
	}
	return nil
}

func (p *suitePlatform) post(place sessions.Route, m models.Message) adaptertest.Said {
	return p.keep(place, m, p.Post(m))
}

func (p *suitePlatform) keep(place sessions.Route, m models.Message, s telegramtest.Said) adaptertest.Said {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.ID = int(s.MessageID)
	event := strconv.FormatInt(s.UpdateID, 10)
	p.said[event] = m
	return adaptertest.Said{Event: event, Place: place, ID: sessions.PlatformMessageID(strconv.FormatInt(s.MessageID, 10))}
}

func (p *suitePlatform) Say(place sessions.Route, from sessions.Peer, text string) adaptertest.Said {
	m := p.message(place, from)
	m.Text = text
	if at := strings.Index(text, p.Mention()); at >= 0 {
		m.Entities = []models.MessageEntity{{Type: models.MessageEntityTypeMention, Offset: at, Length: len(p.Mention())}}
	}
	return p.post(place, m)
}

func (p *suitePlatform) Forward(place sessions.Route, from, writer sessions.Peer, text string) adaptertest.Said {
	m := p.message(place, from)
	m.Text = text
	u := p.user(writer)
	return p.keep(place, m, p.PostWith(m, map[string]any{"forward_origin": map[string]any{
		"type": "user", "date": time.Now().Unix(), "sender_user": map[string]any{"id": u.ID, "is_bot": false, "first_name": u.FirstName},
	}}))
}

func (p *suitePlatform) SayGarbled(place sessions.Route, from sessions.Peer, text string) adaptertest.Said {
	m := p.message(place, from)
	m.Text = text
	return p.keep(place, m, p.PostWith(m, map[string]any{"reply_to_message": "gone"}))
}

func (p *suitePlatform) SayReordered(place sessions.Route, from sessions.Peer, texts ...string) []adaptertest.Said {
	release := p.Hold()
	defer release()
	var all []adaptertest.Said
	for _, text := range texts {
		all = append(all, p.Say(place, from, text))
	}
	return all
}

func (p *suitePlatform) Edit(said adaptertest.Said, text string) {
	p.mu.Lock()
	m := p.said[said.Event]
	p.mu.Unlock()
	m.Text, m.EditDate = text, int(time.Now().Unix())
	p.Post(m)
}

func (p *suitePlatform) Delete(adaptertest.Said) { panic("Telegram does not tell a bot of deletions") }

func (p *suitePlatform) React(place sessions.Route, id sessions.PlatformMessageID, from sessions.Peer, r adapters.Reaction) {
	before, after := []string{}, []string{r.Emoji}
	if r.Removed {
		before, after = after, before
	}
	p.Server.React(p.chat(place), number(id), p.user(from), before, after)
}

func (p *suitePlatform) Press(place sessions.Route, id sessions.PlatformMessageID, from sessions.Peer, label string) {
	if !p.Server.Press(p.chat(place), number(id), p.user(from), label) {
		panic("there is no button " + label)
	}
}

func (p *suitePlatform) Command(sessions.Route, sessions.Peer, string, string) adaptertest.Said {
	panic("Telegram's commands are messages")
}

func (p *suitePlatform) Upload(place sessions.Route, from sessions.Peer, name, mime string, content []byte) adaptertest.Said {
	s := p.Server.Upload(p.chat(place), p.user(from), models.Document{FileName: name, MimeType: mime}, content)
	return p.keep(place, p.message(place, from), s)
}

func number(id sessions.PlatformMessageID) int64 {
	n, err := strconv.ParseInt(string(id), 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func updateID(said adaptertest.Said) int64 { return number(sessions.PlatformMessageID(said.Event)) }
