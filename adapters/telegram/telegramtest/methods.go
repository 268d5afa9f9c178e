package telegramtest

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// maxText is the most UTF-16 code units of a message, maxRich that of a rich one.
const (
	maxText = 4096
	maxRich = 32768
)

// call runs a method, given in lower case, as the Bot API takes any case.
func (b *Bot) call(ctx context.Context, method string, req *request) ([]byte, *apiError) {
	if b.isRevoked() {
		return nil, &apiError{Code: 401, Description: "Unauthorized"}
	}
	switch method {
	case "getupdates":
		return b.getUpdates(ctx, req)
	case "sendmessage", "sendrichmessage":
		return b.sendMessage(method, req)
	case "editmessagetext":
		return b.editMessage(req)
	case "sendchataction":
		return b.chatAction(req)
	case "getme":
		return b.self.append(nil), nil
	case "senddocument", "sendphoto", "sendvoice", "sendaudio", "sendvideo":
		return b.sendFile(method, req)
	case "deletemessage":
		return b.deleteMessage(req)
	case "setmessagereaction":
		return b.setReaction(req)
	case "answercallbackquery":
		return b.answerPress(req)
	case "getfile":
		return b.getFile(req)
	case "getchat":
		return b.getChat(req)
	case "getchatadministrators":
		return b.administrators(req)
	case "setmycommands":
		return b.setCommands(req)
	case "getwebhookinfo":
		return b.webhookInfo(), nil
	case "setwebhook":
		return b.setWebhook(req)
	case "deletewebhook":
		req.URL = ""
		return b.setWebhook(req)
	}
	return nil, &apiError{Code: 404, Description: "Not Found: method not found"}
}

func (b *Bot) isRevoked() bool {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	return b.revoked
}

func (b *Bot) sendMessage(method string, req *request) ([]byte, *apiError) {
	m, apiErr := b.compose(method, req)
	if apiErr != nil {
		return nil, apiErr
	}
	result, apiErr := b.store(req, m)
	if apiErr == nil && b.srv.opts.OnSent != nil {
		b.srv.opts.OnSent(*m)
	}
	return result, apiErr
}

// compose checks the text as far as that needs no state.
func (b *Bot) compose(method string, req *request) (*Message, *apiError) {
	m := &Message{Token: b.Token(), Chat: req.ChatID.ID, Thread: req.MessageThreadID, Text: req.Text, ParseMode: req.ParseMode, Silent: req.DisableNotification, At: time.Now()}
	if req.ReplyParameters != nil {
		m.ReplyTo = req.ReplyParameters.MessageID
	}
	var apiErr *apiError
	if m.Buttons, apiErr = req.ReplyMarkup.buttons(); apiErr != nil {
		return nil, apiErr
	}
	if method == "sendrichmessage" {
		return b.composeRich(req, m)
	}
	plain, err := plainText(req.Text, req.ParseMode)
	if err != nil {
		return nil, badRequest("can't parse entities: " + err.Error())
	}
	m.Plain = plain
	return m, checkLength(plain, maxText)
}

func (b *Bot) composeRich(req *request, m *Message) (*Message, *apiError) {
	if b.srv.opts.NoRichMessages {
		return nil, &apiError{Code: 404, Description: "Not Found"}
	}
	if req.RichMessage == nil || (req.RichMessage.HTML == "") == (req.RichMessage.Markdown == "") {
		return nil, badRequest("rich message must have html or markdown")
	}
	m.Rich = true
	m.Text = req.RichMessage.HTML + req.RichMessage.Markdown
	m.Plain = m.Text
	return m, checkLength(m.Plain, maxRich)
}

func checkLength(text string, most int) *apiError {
	switch n := utf16Len(text); {
	case n == 0:
		return badRequest("message text is empty")
	case n > most:
		return badRequest("message is too long")
	}
	return nil
}

// store finds the chat and puts the message there.
func (b *Bot) store(req *request, m *Message) ([]byte, *apiError) {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	c, apiErr := b.target(req)
	if apiErr != nil {
		return nil, apiErr
	}
	if m.ReplyTo != 0 && (m.ReplyTo >= c.nextMessage || m.ReplyTo < 1) {
		if !req.ReplyParameters.AllowSendingWithoutReply {
			return nil, badRequest("message to be replied not found")
		}
		m.ReplyTo = 0
	}
	m.ID = c.nextMessage
	c.nextMessage++
	if !b.srv.opts.Forget {
		c.messages[m.ID] = m
		c.sent = append(c.sent, m)
	}
	b.srv.notify()
	return b.messageJSON(c.Chat, m), nil
}

// target is the chat that a request names, if the bot may write there; srv.mu is held.
func (b *Bot) target(req *request) (*chat, *apiError) {
	if to, ok := b.migrated[req.ChatID.ID]; ok {
		return nil, &apiError{Code: 400, Description: "Bad Request: group chat was upgraded to a supergroup chat", MigrateTo: to}
	}
	c := b.chats[req.ChatID.ID]
	if req.ChatID.Name != "" {
		c = b.named(req.ChatID.Name)
	}
	if c == nil {
		return nil, badRequest("chat not found")
	}
	// The General topic has the id 1 in sendChatAction alone.
	if t := req.MessageThreadID; t != 0 && !c.topics[t] && (t != 1 || req.Action == "") {
		return nil, badRequest("message thread not found")
	}
	return c, nil
}

func (b *Bot) named(name string) *chat {
	for _, c := range b.chats {
		if strings.EqualFold(c.Username, name) {
			return c
		}
	}
	return nil
}

func (b *Bot) messageJSON(c Chat, m *Message) []byte {
	j := make([]byte, 0, 256+len(m.Plain))
	j = append(j, `{"message_id":`...)
	j = strconv.AppendInt(j, m.ID, 10)
	j = append(j, `,"from":`...)
	j = b.self.append(j)
	j = append(j, `,"chat":`...)
	j = c.append(j)
	j = append(j, `,"date":`...)
	j = strconv.AppendInt(j, m.At.Unix(), 10)
	j = append(j, `,"text":`...)
	j = appendQuoted(j, m.Plain)
	return append(j, '}')
}

func (b *Bot) editMessage(req *request) ([]byte, *apiError) {
	method := "editmessagetext"
	if req.RichMessage != nil && !b.srv.opts.NoRichMessages {
		method = "sendrichmessage"
	}
	edited, apiErr := b.compose(method, req)
	if apiErr != nil {
		return nil, apiErr
	}
	m, result, apiErr := b.replace(req, edited)
	if apiErr == nil && b.srv.opts.OnSent != nil {
		b.srv.opts.OnSent(m)
	}
	return result, apiErr
}

func (b *Bot) replace(req *request, edited *Message) (Message, []byte, *apiError) {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	c, apiErr := b.target(req)
	if apiErr != nil {
		return Message{}, nil, apiErr
	}
	m := c.messages[req.MessageID]
	switch {
	case m == nil && b.srv.opts.Forget:
		m = &Message{Token: b.token, Chat: c.ID, ID: req.MessageID}
	case m == nil:
		return Message{}, nil, badRequest("message to edit not found")
	case m.Text == edited.Text && m.ParseMode == edited.ParseMode && m.Rich == edited.Rich && slices.Equal(m.Buttons, edited.Buttons):
		return Message{}, nil, badRequest("message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message")
	}
	m.Text, m.Plain, m.ParseMode, m.Rich, m.At, m.Buttons = edited.Text, edited.Plain, edited.ParseMode, edited.Rich, edited.At, edited.Buttons
	m.Edits++
	b.srv.notify()
	return *m, b.messageJSON(c.Chat, m), nil
}

// Delete removes a message that the bot sent, so that it can no longer be edited.
func (b *Bot) Delete(chatID, messageID int64) {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	if c := b.chats[chatID]; c != nil {
		c.remove(messageID)
	}
}

func (b *Bot) chatAction(req *request) ([]byte, *apiError) {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	c, apiErr := b.target(req)
	if apiErr != nil {
		return nil, apiErr
	}
	c.typing++
	b.srv.notify()
	return []byte("true"), nil
}

func (b *Bot) setCommands(req *request) ([]byte, *apiError) {
	if len(req.Commands) > 100 {
		return nil, badRequest("BOT_COMMANDS_TOO_MUCH")
	}
	for _, c := range req.Commands {
		if n := len(c.Command); n < 1 || n > 32 || !lowerName(c.Command) {
			return nil, badRequest("BOT_COMMAND_INVALID")
		}
		if n := utf8.RuneCountInString(c.Description); n < 1 || n > 256 {
			return nil, badRequest("BOT_COMMAND_DESCRIPTION_INVALID")
		}
	}
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	b.commands = req.Commands
	b.srv.notify()
	return []byte("true"), nil
}

func lowerName(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' {
			return false
		}
	}
	return true
}
