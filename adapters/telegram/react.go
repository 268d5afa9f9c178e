package telegram

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"sluice/adapters"
	"sluice/sessions"
)

const (
	methodReact  = "setMessageReaction"
	methodDelete = "deleteMessage"
)

// The kinds of reaction.
const (
	reactEmoji  = "emoji"
	reactCustom = "custom_emoji"
)

// React adds the emoji to a message, or removes the bot's reaction. A bot has only one reaction per message: a new
// one replaces it. An emoji that Telegram does not offer is an Unsupported failure.
func (a *Adapter) React(ctx context.Context, route sessions.Route, id sessions.PlatformMessageID, r adapters.Reaction) error {
	to, number, err := messageAt(route, id)
	if err != nil {
		return err
	}
	params := struct {
		ChatID    int64      `json:"chat_id"`
		MessageID int        `json:"message_id"`
		Reaction  []reaction `json:"reaction"` // empty: removes it
	}{to.chat, number, []reaction{}}
	if !r.Removed {
		params.Reaction = append(params.Reaction, reaction{Type: reactEmoji, Emoji: r.Emoji})
	}
	ctx, cancel := context.WithTimeout(ctx, a.cfg.CallTimeout)
	defer cancel()
	var done bool
	if err := a.api.client.call(ctx, methodReact, params, &done); err != nil && !notModified(err) {
		return a.api.failure(methodReact, err)
	}
	return nil
}

// Delete deletes a message. Telegram allows that for 48 hours; afterwards it is a Permanent failure.
func (a *Adapter) Delete(ctx context.Context, route sessions.Route, id sessions.PlatformMessageID) error {
	to, number, err := messageAt(route, id)
	if err != nil {
		return err
	}
	params := struct {
		ChatID    int64 `json:"chat_id"`
		MessageID int   `json:"message_id"`
	}{to.chat, number}
	ctx, cancel := context.WithTimeout(ctx, a.cfg.CallTimeout)
	defer cancel()
	var done bool
	err = a.api.client.call(ctx, methodDelete, params, &done)
	if err != nil && !refusedWith(err, "message to delete not found", "message_id_invalid") {
		return a.api.failure(methodDelete, err)
	}
	return nil
}

func messageAt(route sessions.Route, id sessions.PlatformMessageID) (address, int, error) {
	to, err := target(route)
	if err != nil {
		return to, 0, err
	}
	number, err := messageNumber(id)
	return to, number, err
}

// reactions returns the changes in one update: first the removed reactions, then the added ones.
func (k *intake) reactions(u *update) ([]adapters.Inbound, error) {
	r := u.MessageReaction
	if r.Chat.ID == 0 || r.MessageID == 0 {
		return nil, errMalformed
	}
	m := &message{ID: r.MessageID, From: r.User, SenderChat: r.ActorChat, Chat: r.Chat}
	in := adapters.Inbound{
		Route: k.route(m), Sender: speaker(m), MessageID: messageID(r.MessageID), SentAt: time.Unix(r.Date, 0),
	}
	thread, own := k.own.find(r.Chat.ID, in.MessageID)
	if own {
		in.Route.Thread = thread
	}
	var all []adapters.Inbound
	change := func(from, to []reaction, removed bool) {
		for _, e := range from {
			if slices.Contains(to, e) {
				continue
			}
			in.Event = eventName(u, m, false) + "/reaction/" + strconv.FormatInt(u.ID, 10) + "/" + strconv.Itoa(len(all))
			in.Reaction = &adapters.Reaction{Emoji: e.name(), Removed: removed, Own: own}
			all = append(all, in)
		}
	}
	change(r.Old, r.New, true)
	change(r.New, r.Old, false)
	return all, nil
}

// name returns the character, or Telegram's name for a custom emoji.
func (r reaction) name() string {
	switch r.Type {
	case reactEmoji:
		return valid(r.Emoji)
	case reactCustom:
		return fmt.Sprintf("%s:%s", reactCustom, valid(r.CustomEmojiID))
	}
	return valid(r.Type)
}
