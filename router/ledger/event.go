package ledger

import (
	"time"

	"sluice/sessions"
)

// Event is one inbound platform event. It is kept forever, because it identifies repeated events.
type Event struct {
	Key      string // "<channel>/<account>/<event>"
	Outcome  Outcome
	Session  sessions.ID    // empty for an event without a session
	Run      sessions.RunID // if Outcome is run
	Notice   DeliveryID     // the gateway's own answer; may be empty
	Accepted time.Time
}

// Outcome is the result of an event.
type Outcome string

// The outcomes.
const (
	OutcomeRun     Outcome = "run"     // a run was queued
	OutcomeCommand Outcome = "command" // a chat command was carried out
	OutcomeHistory Outcome = "history" // kept as a group's history
	OutcomePairing Outcome = "pairing" // an unknown person; a code was told or is pending
	OutcomeIgnored Outcome = "ignored" // not admitted by policy
	OutcomeMoved   Outcome = "moved"   // a conversation got a new id
	OutcomeDeleted Outcome = "deleted" // a message was deleted
)

// HistoryAppend adds one group message that was not for the agent.
type HistoryAppend struct {
	Lane sessions.Lane
	Line sessions.HistoryLine
	Keep int
}

// HistoryTrim drops the history of a lane up to and including a time.
type HistoryTrim struct {
	Lane    sessions.Lane
	Through time.Time
}

// DirectPeer says that a person spoke in a conversation.
type DirectPeer struct {
	Channel, Account string
	Conversation     sessions.ConversationID
	User             sessions.UserID // in a direct chat; else empty
}

// HistoryEdit is the new text of a message.
type HistoryEdit struct {
	HistoryMessage
	Text string
}

// HistoryMessage names a message that was edited or deleted.
type HistoryMessage struct {
	Lane    sessions.Lane
	Message sessions.PlatformMessageID
}

// Revision is the newest run of an edited message.
type Revision struct {
	Lane    sessions.Lane
	Message sessions.PlatformMessageID
	Run     sessions.RunID
}

// BotTurns are the accepted inputs of bots in a conversation since a person last spoke there.
type BotTurns struct {
	Place   sessions.Lane // of the conversation, without its thread
	Turns   []time.Time   // the newest ones, oldest first; empty: a person has spoken
	Stopped bool          // bots are ignored there until a person speaks
}

// Alias says that conversation To was known as From.
type Alias struct {
	Channel, Account string
	From, To         sessions.ConversationID
}
