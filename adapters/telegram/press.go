package telegram

import (
	"context"
	"time"
	"unicode/utf8"

	"sluice/adapters"
)

// maxButtons is the maximum below one message.
const maxButtons = 100

// Short labels are shown side by side, if a phone can show them in one row.
const (
	shortLabel = 12 // characters
	perRow     = 3
)

// answerTimeout bounds the answer to a press, which only removes the waiting sign from the button.
const answerTimeout = 5 * time.Second

const methodAnswerPress = "answerCallbackQuery"

// keyboard is an inline keyboard.
type keyboard struct {
	Rows [][]key `json:"inline_keyboard"`
}

type key struct {
	Text string `json:"text"`
	Data string `json:"callback_data"` // at most 64 bytes, as in the port
}

// MaxButtons is 100.
func (a *Adapter) MaxButtons() int { return maxButtons }

// keyboardOf returns nil if there are no buttons.
func keyboardOf(buttons []adapters.Button) *keyboard {
	if len(buttons) == 0 {
		return nil
	}
	k, width := &keyboard{}, rowWidth(buttons)
	for i, b := range buttons {
		if i%width == 0 {
			k.Rows = append(k.Rows, nil)
		}
		last := len(k.Rows) - 1
		k.Rows[last] = append(k.Rows[last], key{valid(b.Label), b.Press})
	}
	return k
}

func rowWidth(buttons []adapters.Button) int {
	for _, b := range buttons {
		if utf8.RuneCountInString(b.Label) > shortLabel {
			return 1
		}
	}
	return perRow
}

// pressed converts a press. Its data can be anything: an app can send data that no button has.
func (k *intake) pressed(q *callbackQuery) (in adapters.Inbound, ok bool, err error) {
	switch {
	case q.Message == nil || q.Data == "":
		return in, false, nil // a message that the bot wrote into a chat of others, or a game
	case q.Message.Chat.ID == 0 || q.Message.ID == 0 || q.From == nil:
		return in, false, errMalformed
	}
	return adapters.Inbound{
		Event:     "cb/" + q.ID,
		Route:     k.route(q.Message),
		Sender:    peerOf(*q.From),
		Press:     valid(q.Data),
		Mentioned: true,
		MessageID: messageID(q.Message.ID),
		SentAt:    k.cfg.Now(), // Telegram does not send the time
	}, true, nil
}

// answerPress removes the waiting sign from a button. Otherwise it disappears after a while, so a failure does no
// harm.
func (k *intake) answerPress(ctx context.Context, query string) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	params := struct {
		ID string `json:"callback_query_id"`
	}{query}
	var done bool
	if err := k.api.client.call(ctx, methodAnswerPress, params, &done); err != nil {
		k.cfg.Log.Warn("could not confirm a pressed button to telegram", "error", err)
	}
}
