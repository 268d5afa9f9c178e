package telegram

import (
	"context"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
	"golang.org/x/time/rate"

	"sluice/sessions"
)

// Telegram allows about thirty calls a second for a bot, messages and typing
// together. When many chats wait at once, messages must not be limited for the sake of typing.
const (
	typingRate  = 10 // a second
	typingBurst = 20
)

func newTypingLimit() *rate.Limiter { return rate.NewLimiter(typingRate, typingBurst) }

// Typing shows that an answer is being written, for about five seconds. Where
// very many chats wait, some get no sign, which is not an error.
func (a *Adapter) Typing(ctx context.Context, route sessions.Route) error {
	to, err := target(route)
	if err != nil || !a.typing.Allow() {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, a.cfg.CallTimeout)
	defer cancel()
	_, err = a.api.sdk.SendChatAction(ctx, &bot.SendChatActionParams{
		ChatID: to.chat, MessageThreadID: to.thread, Action: models.ChatActionTyping,
	})
	if err != nil {
		return a.api.failure("sendChatAction", err)
	}
	return nil
}
