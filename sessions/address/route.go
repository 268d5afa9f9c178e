package address

import "strings"

// ChatType is the kind of a conversation.
type ChatType string

// The chat types. Direct is a chat with one person; Channel is a broadcast place.
const (
	Direct  ChatType = "direct"
	Group   ChatType = "group"
	Channel ChatType = "channel"
)

// Valid reports whether t is one of the three chat types.
func (t ChatType) Valid() bool { return t == Direct || t == Group || t == Channel }

// ConversationID is a platform's own id of a place to speak to, exactly as the platform spells it.
type ConversationID string

// ThreadID is a platform's own id of a thread or topic inside a conversation; empty for none.
type ThreadID string

// UserID is a platform's own id of a person or bot.
type UserID string

// PlatformMessageID is a platform's own id of one message in a conversation.
type PlatformMessageID string

// Route is the full address of a conversation. It travels with a run and its
// answer and is never guessed from a session.
type Route struct {
	Channel      string            `json:"channel"`           // platform, for example "telegram"
	Account      string            `json:"account"`           // bot on it, for example "default"
	ChatType     ChatType          `json:"chatType"`          // direct, group or channel
	Conversation ConversationID    `json:"conversation"`      // the platform's id of the chat
	Thread       ThreadID          `json:"thread,omitempty"`  // topic or thread in it
	ReplyTo      PlatformMessageID `json:"replyTo,omitempty"` // the message that is answered
	Title        string            `json:"title,omitempty"`   // display name of the conversation
	Space        string            `json:"space,omitempty"`   // what it is a part of: a Discord guild, a Slack workspace
	// Peer is whose direct chat it is, where the conversation has an id of its own and somebody knows.
	Peer UserID `json:"peer,omitempty"`
	// Handle is the platform's own handle for one answer that only the sender sees
	// (to a command of the platform's menu). It holds for some minutes and for one answer.
	Handle string `json:"handle,omitempty"`
}

// Person is who is spoken to in a direct chat, if known.
func (r Route) Person() UserID {
	if r.Peer != "" {
		return r.Peer
	}
	return UserID(r.Conversation)
}

// IsZero reports whether the route leads nowhere (a run whose answer is only kept).
func (r Route) IsZero() bool { return r.Channel == "" }

// Place is the route without what belongs to one message alone: what it answers and its handle.
func (r Route) Place() Route {
	r.ReplyTo, r.Handle = "", ""
	return r
}

// Lane names what must stay in order on the way out: one conversation with its
// thread. What else it says does not count.
func (r Route) Lane() Lane {
	parts := []string{"c", r.Channel, r.Account, string(r.Conversation), string(r.Thread)}
	for i, p := range parts {
		parts[i] = laneEscaper.Replace(p)
	}
	return Lane(strings.Join(parts, "|"))
}

var laneEscaper = strings.NewReplacer("%", "%25", "|", "%7C")

// Peer is a person or bot in a conversation.
type Peer struct {
	ID       UserID `json:"id"`
	Name     string `json:"name,omitempty"`     // display name
	Username string `json:"username,omitempty"` // handle without @
	Bot      bool   `json:"bot,omitempty"`
}
