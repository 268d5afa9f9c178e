package ledger

import (
	"time"

	"sluice/sessions"
)

// Event is one inbound platform event. It is kept for ever: it is what makes a repeat a repeat.
type Event struct {
	Key      string // "<channel>/<account>/<event>"
	Outcome  Outcome
	Session  sessions.ID    // empty if none
	Run      sessions.RunID // of Outcome run
	Notice   DeliveryID     // the gateway's own answer to it; empty for none
	Accepted time.Time
}

// Outcome says what became of an event.
type Outcome string

// The outcomes.
const (
	OutcomeRun     Outcome = "run"     // a run was queued
	OutcomeCommand Outcome = "command" // a chat command was carried out
	OutcomeHistory Outcome = "history" // kept as a group's history
	OutcomePairing Outcome = "pairing" // an unknown person; a code was told or is pending
	OutcomeIgnored Outcome = "ignored" // not admitted by policy
	OutcomeMoved   Outcome = "moved"   // a conversation got a new id
	OutcomeDeleted Outcome = "deleted" // a message was taken back
)

// HistoryAppend is one line of a group's unmentioned talk.
type HistoryAppend struct {
	Lane sessions.Lane
	Line sessions.HistoryLine
	Keep int
}

// HistoryTrim drops the history of a lane up to a time that is included.
type HistoryTrim struct {
	Lane    sessions.Lane
	Through time.Time
}

// DirectPeer says that somebody was heard in a conversation, and whose it is.
type DirectPeer struct {
	Channel, Account string
	Conversation     sessions.ConversationID
	User             sessions.UserID // of a direct chat; empty elsewhere
}

// HistoryEdit is the new text of a message.
type HistoryEdit struct {
	HistoryMessage
	Text string
}

// HistoryMessage names a message that was taken back.
type HistoryMessage struct {
	Lane    sessions.Lane
	Message sessions.PlatformMessageID
}

// Revision says which run an edited message has led to last.
type Revision struct {
	Lane    sessions.Lane
	Message sessions.PlatformMessageID
	Run     sessions.RunID
}

// BotTurns are the inputs of bots that were taken in a conversation since a person last spoke there.
type BotTurns struct {
	Place   sessions.Lane // of the conversation, without its thread
	Turns   []time.Time   // the newest, oldest first; none: a person has spoken
	Stopped bool          // bots are not heard there until a person speaks
}

// Alias says that conversation To is known under the older id From.
type Alias struct {
	Channel, Account string
	From, To         sessions.ConversationID
}
