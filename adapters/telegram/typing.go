package telegram

import (
	"context"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
	"golang.org/x/time/rate"

	"sluice/sessions"
)

// Telegram allows a bot about thirty calls a second, including messages and typing. When many chats wait at once, the
// typing sign must not slow down messages.
const (
	typingRate  = 10 // per second
	typingBurst = 20
)

func newTypingLimit() *rate.Limiter { return rate.NewLimiter(typingRate, typingBurst) }

// Typing shows for about five seconds that an answer is being written. If very many chats wait, some get no sign,
// which is not an error.
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
