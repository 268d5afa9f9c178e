package telegramtest

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/go-telegram/bot/models"
)

// Chat is a place where people and bots talk.
type Chat struct {
	ID       int64
	Type     string // private, group, supergroup or channel
	Title    string
	Forum    bool
	Username string // of public groups and channels
}

// User is a person or bot.
type User struct {
	ID        int64
	FirstName string
	Username  string
	Bot       bool
}

// Said tells what a message of a person became.
type Said struct{ UpdateID, MessageID int64 }

// Private is the chat with one person; it has the person's id.
func Private(user int64) Chat { return Chat{ID: user, Type: "private"} }

// Group is a basic group; its id is negative.
func Group(id int64, title string) Chat { return Chat{ID: id, Type: "group", Title: title} }

// update is one pending update as it goes over the wire.
type update struct {
	id   int64
	json []byte
	// again keeps a repeated update below the confirmed offset until it was given out once more.
	again bool
}

// Say makes a person write a text in a chat.
func (b *Bot) Say(in Chat, from User, text string) Said {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	c := b.chat(in)
	said := Said{UpdateID: b.nextUpdate, MessageID: c.nextMessage}
	c.nextMessage++
	j := make([]byte, 0, 256+len(text))
	j = append(j, `{"update_id":`...)
	j = strconv.AppendInt(j, said.UpdateID, 10)
	j = append(j, `,"message":{"message_id":`...)
	j = strconv.AppendInt(j, said.MessageID, 10)
	j = append(j, `,"from":`...)
	j = from.append(j)
	j = append(j, `,"chat":`...)
	j = in.append(j)
	j = append(j, `,"date":`...)
	j = strconv.AppendInt(j, time.Now().Unix(), 10)
	j = append(j, `,"text":`...)
	j = appendQuoted(j, text)
	j = append(j, `}}`...)
	b.enqueue(j)
	return said
}

// Hold keeps the updates that come from now on back, until the function that it
// returns hands them out, last first.
func (b *Bot) Hold() (release func()) {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	b.held = []update{}
	return func() {
		b.srv.mu.Lock()
		defer b.srv.mu.Unlock()
		slices.Reverse(b.held)
		b.queue, b.held = append(b.queue, b.held...), nil
		b.wake()
	}
}

// Post makes any message arrive. A zero id or date is filled in. The field
// EditDate makes it an edited message; a channel's message is a channel post.
func (b *Bot) Post(m models.Message) Said { return b.PostWith(m, nil) }

// PostWith makes a message with further fields arrive, such as those that the SDK can't write.
func (b *Bot) PostWith(m models.Message, extra map[string]any) Said {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	c := b.chat(Chat{ID: m.Chat.ID, Type: string(m.Chat.Type), Title: m.Chat.Title, Forum: m.Chat.IsForum})
	if m.ID == 0 {
		m.ID = int(c.nextMessage)
	}
	c.nextMessage = max(c.nextMessage, int64(m.ID)+1)
	if m.Date == 0 {
		m.Date = int(time.Now().Unix())
	}
	if m.MessageThreadID != 0 {
		c.topics[int64(m.MessageThreadID)] = true
	}
	kind := "message"
	if m.Chat.Type == models.ChatTypeChannel {
		kind = "channel_post"
	}
	if m.EditDate != 0 {
		kind = "edited_" + kind
	}
	said := Said{b.nextUpdate, int64(m.ID)}
	j, _ := json.Marshal(m) // the SDK's own types always marshal
	fields := map[string]any{}
	_ = json.Unmarshal(j, &fields) // it was marshalled just now
	maps.Copy(fields, extra)
	j, _ = json.Marshal(map[string]any{"update_id": said.UpdateID, kind: fields}) // the tests' own values always marshal
	b.enqueue(j)
	return said
}

// PostRaw makes an update of any text arrive, well-formed or not. make gets the
// update id that is due.
func (b *Bot) PostRaw(makeJSON func(updateID int64) string) int64 {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	id := b.nextUpdate
	b.enqueue([]byte(makeJSON(id)))
	return id
}

// NextUpdateID sets the id of the next update. Telegram picks any id after a week without updates, and it may be a lower one.
func (b *Bot) NextUpdateID(id int64) {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	b.nextUpdate = id
}

// Redeliver makes an update arrive again, with its old id, confirmed or not.
func (b *Bot) Redeliver(updateID int64) {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	j, ok := b.given[updateID]
	if !ok {
		return
	}
	b.queue = slices.Insert(b.queue, 0, update{updateID, j, true})
	b.wake()
}

// Migrate turns a group into a supergroup: the two service messages arrive, and
// the old id is answered with the new one from now on.
func (b *Bot) Migrate(from, to int64) {
	b.srv.mu.Lock()
	title := ""
	if c := b.chats[from]; c != nil {
		title = c.Title
	}
	b.migrated[from] = to
	b.srv.mu.Unlock()
	b.Post(models.Message{Chat: models.Chat{ID: from, Type: models.ChatTypeGroup, Title: title}, MigrateToChatID: to})
	b.Post(models.Message{Chat: models.Chat{ID: to, Type: models.ChatTypeSupergroup, Title: title}, MigrateFromChatID: from})
}

// enqueue adds the update with the id that is due; srv.mu is held.
func (b *Bot) enqueue(j []byte) {
	if b.held != nil {
		b.held = append(b.held, update{id: b.nextUpdate, json: j})
	} else {
		b.queue = append(b.queue, update{id: b.nextUpdate, json: j})
	}
	if b.given != nil {
		b.given[b.nextUpdate] = j
	}
	b.nextUpdate++
	b.wake()
}

// wake wakes the clients that wait for updates; srv.mu is held.
func (b *Bot) wake() {
	if b.poll != nil {
		b.poll.signal()
	}
	b.srv.notify()
}

func (u User) append(j []byte) []byte {
	j = append(j, `{"id":`...)
	j = strconv.AppendInt(j, u.ID, 10)
	j = append(j, `,"is_bot":`...)
	j = strconv.AppendBool(j, u.Bot)
	j = append(j, `,"first_name":`...)
	j = appendQuoted(j, u.FirstName)
	if u.Username != "" {
		j = append(j, `,"username":`...)
		j = appendQuoted(j, u.Username)
	}
	return append(j, '}')
}

func (c Chat) append(j []byte) []byte {
	j = append(j, `{"id":`...)
	j = strconv.AppendInt(j, c.ID, 10)
	j = append(j, `,"type":`...)
	j = appendQuoted(j, c.Type)
	if c.Title != "" {
		j = append(j, `,"title":`...)
		j = appendQuoted(j, c.Title)
	}
	if c.Username != "" {
		j = append(j, `,"username":`...)
		j = appendQuoted(j, c.Username)
	}
	if c.Forum {
		j = append(j, `,"is_forum":true`...)
	}
	return append(j, '}')
}

func appendQuoted(j []byte, text string) []byte {
	quoted, _ := json.Marshal(text) // a string always marshals
	return append(j, quoted...)
}
