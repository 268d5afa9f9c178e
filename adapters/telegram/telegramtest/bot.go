package telegramtest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-telegram/bot/models"
)

// Bot is one bot of the server, with its own chats, updates and webhook.
type Bot struct {
	srv   *Server
	token string
	self  User

	// All of it is guarded by srv.mu.
	chats      map[int64]*chat
	migrated   map[int64]int64 // old chat id → new one
	queue      []update
	held       []update         // kept back; nil: updates are sent at once
	given      map[int64][]byte // every update ever made, for Redeliver; nil with Forget
	nextUpdate int64
	poll       *poll
	rivals     int // calls that cut off another poll
	webhook    webhook
	commands   []models.BotCommand
	revoked    bool
	files      map[string]file  // by id
	presses    map[string]bool  // callback queries by id: answered
	allowed    []string         // kinds of update that were asked for; nil before the first call
	admins     map[int64][]User // of chats
}

// chat is what the server knows of a chat that the bot is in.
type chat struct {
	Chat
	nextMessage int64
	messages    map[int64]*Message // sent by the bot; nil entries were sent by people
	sent        []*Message
	topics      map[int64]bool
	deleted     map[int64]bool
	typing      int
}

func newBot(s *Server, token string, index int) *Bot {
	id, _, _ := strings.Cut(token, ":")
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		number = int64(1_000_000 + index)
	}
	b := &Bot{
		srv: s, token: token, nextUpdate: 1000*int64(index+1) + 1,
		self:     User{ID: number, FirstName: "Bot " + strconv.Itoa(index), Username: "test" + strconv.Itoa(index) + "_bot", Bot: true},
		chats:    map[int64]*chat{},
		migrated: map[int64]int64{},
		files:    map[string]file{},
		presses:  map[string]bool{},
		admins:   map[int64][]User{},
	}
	if !s.opts.Forget {
		b.given = map[int64][]byte{}
	}
	return b
}

// Token is the bot's token.
func (b *Bot) Token() string {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	return b.token
}

// Rotate gives the bot another token; the one before is invalid at once.
func (b *Bot) Rotate(token string) {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	delete(b.srv.bots, b.token)
	b.token = token
	b.srv.bots[token] = b
	b.interruptPoll(&apiError{Code: 401, Description: "Unauthorized"})
}

// Join makes a chat with its topics known to the bot, so that it may send there.
func (b *Bot) Join(c Chat, topics ...int64) {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	known := b.chat(c)
	for _, t := range topics {
		known.topics[t] = true
	}
}

// chat finds or makes a chat; srv.mu is held.
func (b *Bot) chat(c Chat) *chat {
	known := b.chats[c.ID]
	if known == nil {
		known = &chat{Chat: c, nextMessage: 1, messages: map[int64]*Message{}, topics: map[int64]bool{}, deleted: map[int64]bool{}}
		b.chats[c.ID] = known
	}
	return known
}

// Revoke makes the token invalid, or valid again.
func (b *Bot) Revoke(revoked bool) {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	b.revoked = revoked
	b.interruptPoll(&apiError{Code: 401, Description: "Unauthorized"})
}

// Sent are the messages that the bot sent to a chat, as they stand now, in order of sending.
func (b *Bot) Sent(chatID int64) []Message {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	return b.sent(chatID)
}

func (b *Bot) sent(chatID int64) []Message {
	c := b.chats[chatID]
	if c == nil {
		return nil
	}
	messages := make([]Message, len(c.sent))
	for i, m := range c.sent {
		messages[i] = *m
	}
	return messages
}

// Shown is how many of the bot's messages each chat shows.
func (b *Bot) Shown() map[int64]int {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	shown := make(map[int64]int, len(b.chats))
	for id, c := range b.chats {
		if len(c.sent) > 0 {
			shown[id] = len(c.sent)
		}
	}
	return shown
}

// WaitSent waits until the bot has sent at least n messages to a chat and gives them.
func (b *Bot) WaitSent(ctx context.Context, chatID int64, n int) ([]Message, error) {
	var sent []Message
	err := b.srv.wait(ctx, func() bool {
		sent = b.sent(chatID)
		return len(sent) >= n
	})
	if err != nil {
		return sent, fmt.Errorf("wait for %d messages in chat %d, have %d: %w", n, chatID, len(sent), err)
	}
	return sent, nil
}

// Commands are the commands that setMyCommands published last.
func (b *Bot) Commands() []models.BotCommand {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	return slices.Clone(b.commands)
}

// Pending is the number of updates that the bot has not confirmed.
func (b *Bot) Pending() int {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	return len(b.queue)
}

// Confirmed reports whether the bot has confirmed an update.
func (b *Bot) Confirmed(updateID int64) bool {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	return b.confirmed(updateID)
}

func (b *Bot) confirmed(updateID int64) bool {
	return !slices.ContainsFunc(b.queue, func(u update) bool { return u.id == updateID })
}

// WaitConfirmedOne waits until the bot has confirmed an update.
func (b *Bot) WaitConfirmedOne(ctx context.Context, updateID int64) error {
	if err := b.srv.wait(ctx, func() bool { return b.confirmed(updateID) }); err != nil {
		return fmt.Errorf("wait for update %d's confirmation: %w", updateID, err)
	}
	return nil
}

// WaitConfirmed waits until the bot has confirmed every update.
func (b *Bot) WaitConfirmed(ctx context.Context) error {
	if err := b.srv.wait(ctx, func() bool { return len(b.queue) == 0 }); err != nil {
		return fmt.Errorf("wait for the updates' confirmation, %d left: %w", b.Pending(), err)
	}
	return nil
}

// Typing is how often the bot showed that it is typing in a chat.
func (b *Bot) Typing(chatID int64) int {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	if c := b.chats[chatID]; c != nil {
		return c.typing
	}
	return 0
}
