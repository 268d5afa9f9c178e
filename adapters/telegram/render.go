package telegram

import (
	"strings"
	"sync"

	"github.com/go-telegram/bot/models"

	"sluice/adapters"
	"sluice/internal/markdown"
)

// Split cuts a text into chunks that each fit one Telegram message.
func (a *Adapter) Split(text string) []string { return markdown.Split(valid(text), maxText) }

// replyParameters makes the first chunk a reply to its question, in chats with several people.
func replyParameters(out adapters.Outbound, to address) *models.ReplyParameters {
	if to.replyTo == 0 || out.Part > 0 {
		return nil
	}
	return &models.ReplyParameters{MessageID: to.replyTo, AllowSendingWithoutReply: true}
}

func (s *sender) linkPreviews() *models.LinkPreviewOptions {
	if s.cfg.LinkPreviews {
		return nil
	}
	off := true
	return &models.LinkPreviewOptions{IsDisabled: &off}
}

// parsed returns a function that parses the text as Markdown at its first call.
func parsed(out adapters.Outbound) func() markdown.Text {
	return sync.OnceValue(func() markdown.Text { return markdown.Parse(valid(out.Text)) })
}

// render returns the text and its parse mode. A text that renders to nothing is sent unchanged.
func render(out adapters.Outbound, shown func() markdown.Text) (string, models.ParseMode) {
	text := valid(out.Text)
	if out.Plain {
		return plain(out), ""
	}
	html := shown().TelegramHTML()
	if strings.TrimSpace(html) == "" {
		return text, ""
	}
	return html, models.ParseModeHTML
}

// plain returns the text without markup: unchanged if it fits, and otherwise without its Markdown characters, which
// [Adapter.Split] did not count.
func plain(out adapters.Outbound) string {
	text := valid(out.Text)
	if out.Plain && len(text) <= maxText { // no text has more UTF-16 units than bytes
		return text
	}
	if shown := markdown.Plain(text); shown != "" {
		return shown
	}
	return text
}
