package telegram

import (
	"context"
	"fmt"
	"strconv"

	"github.com/go-telegram/bot/models"

	"sluice/internal/pattern"
	"sluice/sessions"
)

const (
	methodChat   = "getChat"
	methodAdmins = "getChatAdministrators"
)

// chatName matches what the Bot API can look up: an id, or the public name of a group or channel.
var chatName = pattern.New(`^(-?[0-9]{1,19}|@[A-Za-z0-9_]{4,32})$`)

// Find resolves an id, or the @name of a public group or channel. People are found only by id, and only if they have
// written to the bot: Telegram gives bots no more information.
func (a *Adapter) Find(ctx context.Context, name string) (sessions.Route, error) {
	if !chatName.MatchString(name) {
		return sessions.Route{}, permanent(fmt.Errorf("%q is neither a Telegram id nor the @name of a public chat", name))
	}
	c, err := a.api.getChat(ctx, name)
	if err != nil {
		return sessions.Route{}, err
	}
	return sessions.Route{
		Channel: channelName, Account: a.cfg.Account, ChatType: chatType(c.Type),
		Conversation: conversation(c.ID), Title: valid(chatTitle(*c)),
	}, nil
}

// Members lists a group's administrators, or the person of a direct chat: Telegram does not show other members to
// bots.
func (a *Adapter) Members(ctx context.Context, route sessions.Route, limit int) ([]sessions.Peer, error) {
	to, err := target(route)
	if err != nil {
		return nil, err
	}
	if route.ChatType == sessions.Direct {
		c, err := a.api.getChat(ctx, strconv.FormatInt(to.chat, 10))
		if err != nil {
			return nil, err
		}
		return []sessions.Peer{peerOfChat(*c)}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, a.cfg.CallTimeout)
	defer cancel()
	var admins []struct {
		User models.User `json:"user"`
	}
	if err := a.api.client.call(ctx, methodAdmins, chatParams{strconv.FormatInt(to.chat, 10)}, &admins); err != nil {
		return nil, a.api.failure(methodAdmins, err)
	}
	people := make([]sessions.Peer, 0, len(admins))
	for _, m := range admins[:min(limit, len(admins))] {
		people = append(people, peerOf(m.User))
	}
	return people, nil
}

type chatParams struct {
	ChatID string `json:"chat_id"` // Telegram accepts an id as a text
}
