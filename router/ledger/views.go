package ledger

import (
	"time"

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
