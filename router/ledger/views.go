package ledger

import (
	"encoding/json"
	"time"

	"sluice/policy/flow"
	"sluice/sessions"
)

// RunPoint is what charts show of a run.
type RunPoint struct {
	Kind         sessions.RunKind
	Status       sessions.RunStatus
	InputTokens  int
	OutputTokens int
	Accepted     time.Time
	Finished     time.Time
}

// DeliveryCount is what charts show of the deliveries of an hour.
type DeliveryCount struct {
	All   int
	Sent  int
	First time.Time // when the oldest of them was created
}

// ToolCall is a tool call of the past.
type ToolCall struct {
	Session sessions.ID
	Run     sessions.RunID
	ID      string // in its message
	Tool    string
	Args    json.RawMessage
	Label   flow.Label
	Made    time.Time
}
