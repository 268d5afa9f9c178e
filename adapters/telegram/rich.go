package telegram

import (
	"context"

	"github.com/go-telegram/bot/models"

	"sluice/adapters"
	"sluice/internal/markdown"
)

const methodRich = "sendRichMessage"

// richParams is the body of sendRichMessage, which the library does not support yet.
type richParams struct {
	ChatID              int64                   `json:"chat_id"`
	MessageThreadID     int                     `json:"message_thread_id,omitempty"`
	RichMessage         richMessage             `json:"rich_message"`
	DisableNotification bool                    `json:"disable_notification,omitempty"`
	ReplyParameters     *models.ReplyParameters `json:"reply_parameters,omitempty"`
	ReplyMarkup         *keyboard               `json:"reply_markup,omitempty"`
}

// richEdit is the body of editMessageText for a rich message. Servers before Bot API 10.1 reject it, because it has
// no text.
type richEdit struct {
	ChatID      int64       `json:"chat_id"`
	MessageID   int         `json:"message_id"`
	RichMessage richMessage `json:"rich_message"`
	ReplyMarkup *keyboard   `json:"reply_markup,omitempty"`
}

type richMessage struct {
	Markdown string `json:"markdown"`
}

// wantsRich reports whether a message should be a rich one. shown is its text.
func (s *sender) wantsRich(out adapters.Outbound, shown func() markdown.Text) bool {
	if out.Plain || s.noRich.Load() {
		return false
	}
	switch s.cfg.RichMessages {
	case RichOn:
		return true
	case RichAuto:
		return shown().Structured()
	}
	return false
}

// postRich tries a native rich message. done is false if the caller should send HTML instead: the server is too old,
// or rejects the text in this form.
func (s *sender) postRich(ctx context.Context, out adapters.Outbound, to address) (receipt adapters.Receipt, done bool, err error) {
	p := richParams{
		ChatID: to.chat, RichMessage: richMessage{Markdown: valid(out.Text)},
		DisableNotification: out.Silent, ReplyParameters: replyParameters(out, to), ReplyMarkup: keyboardOf(out.Buttons),
	}
	if to.thread != generalTopic {
		p.MessageThreadID = to.thread
	}
	var m sent
	err = s.api.client.call(ctx, methodRich, p, &m)
	switch {
	case err == nil:
		return s.receiptOf(m), true, nil
	case unknownMethod(err):
		s.noRich.Store(true)
		s.cfg.Log.Info("this Bot API server has no rich messages, sending HTML", "error", err)
		return receipt, false, nil
	case badMarkup(err) || refusedWith(err, "rich"):
		return receipt, false, nil
	}
	return receipt, true, s.api.failure(methodRich, err)
}
