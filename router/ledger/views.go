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
	Started      time.Time
	Finished     time.Time
}

// DeliveryPoint is what charts show of a delivery.
type DeliveryPoint struct {
	Status  DeliveryStatus
	Created time.Time
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
