package telegramtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/go-telegram/bot/models"
)

// emojis are some of those that Telegram takes as reactions.
var emojis = []string{"👍", "👎", "❤", "🔥", "👀", "🎉", "🤔", "👌", "🙏"}

// reacted is one reaction as it is sent.
type reacted struct {
	Type  string `json:"type"`
	Emoji string `json:"emoji"`
}

// React makes a person's reactions to a message change from some to others.
// Like Telegram it tells only a bot that asked for message_reaction.
func (b *Bot) React(in Chat, messageID int64, from User, before, after []string) {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	if !slices.Contains(b.allowed, models.AllowedUpdateMessageReaction) {
		return
	}
	j := fmt.Appendf(nil, `{"update_id":%d,"message_reaction":{"chat":%s,"message_id":%d,"user":%s,"date":%d,"old_reaction":%s,"new_reaction":%s}}`,
		b.nextUpdate, in.append(nil), messageID, from.append(nil), time.Now().Unix(), emojiJSON(before), emojiJSON(after))
	b.enqueue(j)
}

func emojiJSON(emoji []string) []byte {
	list := make([]reacted, len(emoji))
	for i, e := range emoji {
		list[i] = reacted{"emoji", e}
	}
	j, _ := json.Marshal(list) // it always marshals
	return j
}

func (b *Bot) setReaction(req *request) ([]byte, *apiError) {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	c, apiErr := b.target(req)
	if apiErr != nil {
		return nil, apiErr
	}
	if len(req.Reaction) > 1 {
		return nil, badRequest("REACTIONS_TOO_MANY")
	}
	var own []string
	for _, r := range req.Reaction {
		if r.Type != "emoji" || !slices.Contains(emojis, r.Emoji) {
			return nil, badRequest("REACTION_INVALID")
		}
		own = append(own, r.Emoji)
	}
	if req.MessageID < 1 || req.MessageID >= c.nextMessage || c.deleted[req.MessageID] {
		return nil, badRequest("message to react not found")
	}
	if m := c.messages[req.MessageID]; m != nil {
		m.Reactions = own
	}
	b.srv.notify()
	return []byte("true"), nil
}

func (b *Bot) deleteMessage(req *request) ([]byte, *apiError) {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	c, apiErr := b.target(req)
	if apiErr != nil {
		return nil, apiErr
	}
	if c.deleted[req.MessageID] || req.MessageID < 1 || req.MessageID >= c.nextMessage {
		return nil, badRequest("message to delete not found")
	}
	c.remove(req.MessageID)
	b.srv.notify()
	return []byte("true"), nil
}

// remove takes a message out of the chat.
func (c *chat) remove(id int64) {
	delete(c.messages, id)
	c.deleted[id] = true
	c.sent = slices.DeleteFunc(c.sent, func(m *Message) bool { return m.ID == id })
}
