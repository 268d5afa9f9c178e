package turn

import (
	"sluice/policy/flow"

	"sluice/sessions/address"
)

// Order says what a run does to its session beside, or instead of, asking the model. It is carried
// out when the run's turn has come, in the same transaction as the run's next step.
type Order struct {
	Do OrderKind `json:"do"`
	// Run is that of the message which the input replaces, if it still is the newest that a user
	// has written; else the input is a message like any other. Of [OrderEdit].
	Run     address.RunID     `json:"run,omitempty"`
	N       int               `json:"n,omitempty"`       // of OrderUndo: turns; of OrderSwitch: the branch's number, for people
	Message address.MessageID `json:"message,omitempty"` // of OrderSwitch: on the branch
	Level   flow.Level        `json:"level,omitzero"`    // of OrderRaise
}

// OrderKind is what an order asks for.
type OrderKind string

// The orders. Edit and retry are answered by the model, the others by the gateway.
const (
	OrderEdit    OrderKind = "edit"    // the input is another version of a message: it is answered on a branch of its own
	OrderRetry   OrderKind = "retry"   // the last message is answered again, on a branch of its own
	OrderUndo    OrderKind = "undo"    // the last turns are taken back
	OrderSwitch  OrderKind = "switch"  // another branch is continued
	OrderRaise   OrderKind = "raise"   // the session rises to a level, and can read what is at it
	OrderCompact OrderKind = "compact" // a summary takes the place of what was said before
)

// Answered reports whether the model answers.
func (k OrderKind) Answered() bool { return k == OrderEdit || k == OrderRetry }
