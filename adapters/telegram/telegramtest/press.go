package telegramtest

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/go-telegram/bot/models"
)

// The bounds of an inline keyboard.
const (
	maxButtons  = 100
	maxRow      = 8
	maxCallback = 64 // bytes
)

// Button is one button below a message of the bot.
type Button struct{ Label, Data string }

// keyboard is an inline keyboard as it is sent.
type keyboard struct {
	Rows [][]models.InlineKeyboardButton `json:"inline_keyboard"`
}

// buttons checks a keyboard and gives its buttons in order.
func (k *keyboard) buttons() ([]Button, *apiError) {
	var all []Button
	if k == nil {
		return nil, nil
	}
	for _, row := range k.Rows {
		if len(row) > maxRow {
			return nil, badRequest("REPLY_MARKUP_TOO_LONG")
		}
		for _, b := range row {
			if b.Text == "" || len(b.CallbackData) == 0 || len(b.CallbackData) > maxCallback {
				return nil, badRequest("BUTTON_DATA_INVALID")
			}
			all = append(all, Button{b.Text, b.CallbackData})
		}
	}
	if len(all) > maxButtons {
		return nil, badRequest("REPLY_MARKUP_TOO_LONG")
	}
	return all, nil
}

// Press makes a person press the button with the label below a message of the bot. It reports whether there is one.
func (b *Bot) Press(in Chat, messageID int64, from User, label string) bool {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	m := b.chat(in).messages[messageID]
	if m == nil {
		return false
	}
	at := slices.IndexFunc(m.Buttons, func(b Button) bool { return b.Label == label })
	if at < 0 {
		return false
	}
	id := strconv.Itoa(4382000 + len(b.presses))
	b.presses[id] = false
	j := fmt.Appendf(nil, `{"update_id":%d,"callback_query":{"id":%q,"from":%s,"chat_instance":"1","data":%s,"message":%s}}`,
		b.nextUpdate, id, from.append(nil), appendQuoted(nil, m.Buttons[at].Data), b.messageJSON(in, m))
	b.enqueue(j)
	return true
}

// Unanswered is how many presses the bot has not answered: their buttons still show that they are waiting.
func (b *Bot) Unanswered() int {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	n := 0
	for _, answered := range b.presses {
		if !answered {
			n++
		}
	}
	return n
}

func (b *Bot) answerPress(req *request) ([]byte, *apiError) {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	if _, ok := b.presses[req.CallbackQueryID]; !ok {
		return nil, badRequest("query is too old and response timeout expired or query ID is invalid")
	}
	b.presses[req.CallbackQueryID] = true
	b.srv.notify()
	return []byte("true"), nil
}
