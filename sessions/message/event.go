package message

import (
	"time"

	"sluice/policy/flow"

	"sluice/sessions/address"
)

// Event is a live event of a session: what a page or a stream shows while a run
// works. Events are not the truth; messages and runs are.
type Event struct {
	Session address.ID    `json:"session"`
	Run     address.RunID `json:"run,omitempty"`
	Seq     uint64        `json:"seq,omitempty"` // given by the bus, grows within a session
	Type    EventType     `json:"type"`
	Text    string        `json:"text,omitempty"` // delta, final text, notice or error text
	// Delivery is that of a notice, to know it again in the history.
	Delivery string        `json:"delivery,omitempty"`
	File     string        `json:"file,omitempty"`    // notice: name of a file that the delivery has brought
	Buttons  []Button      `json:"buttons,omitempty"` // notice: below its text
	CallID   string        `json:"callId,omitempty"`  // tool events
	Tool     string        `json:"tool,omitempty"`    // tool events
	Failed   bool          `json:"failed,omitempty"`  // tool.result: the call failed
	Sender   *address.Peer `json:"sender,omitempty"`  // message.user
	Usage    *Usage        `json:"usage,omitempty"`   // run.done
	Attempt  int           `json:"attempt,omitempty"` // run.retrying: discard what was streamed so far
	At       time.Time     `json:"at"`
	// Label is how secret the event is. Where it was lost, it is RESTRICTED.
	Label flow.Label `json:"label,omitzero"`
}

// Button is a button below a message.
type Button struct {
	Label string `json:"label"` // at most 40 characters
	// Value is what the agent is told when it is pressed, at most 60 bytes. Of a button of the gateway's own it is the command that does the same.
	Value string `json:"value"`
	// Press names the button where it is shown, in at most 64 bytes. It is all that a platform gets, and hands back when the button is pressed.
	Press string `json:"press,omitempty"`
}

// EventType is the type of a live event, as in an SSE frame.
type EventType string

// The event types. Each run that starts ends with exactly one of the last four.
const (
	EventUser     EventType = "message.user"    // somebody wrote; Text and Sender
	EventNotice   EventType = "message.notice"  // the gateway's own word to the session's conversation
	EventDecided  EventType = "message.decided" // the question of the notice Delivery is decided: its buttons no longer do anything; Text says how
	EventStarted  EventType = "run.started"     // the model is thinking
	EventDelta    EventType = "text.delta"      // Text was added to the answer
	EventThinking EventType = "thinking.delta"  // Text was added to the reasoning
	EventToolCall EventType = "tool.call"       // a tool is being run
	EventToolDone EventType = "tool.result"     // it has ended
	EventRetrying EventType = "run.retrying"    // the model failed; trying again
	EventDone     EventType = "run.done"        // Text is the whole answer
	EventFailed   EventType = "run.failed"      // Text says what went wrong
	EventAborted  EventType = "run.aborted"     // somebody stopped it
	EventDropped  EventType = "run.dropped"     // the queue was full
)

// Terminal reports whether the event ends its run.
func (t EventType) Terminal() bool {
	switch t {
	case EventDone, EventFailed, EventAborted, EventDropped:
		return true
	}
	return false
}
