package turn

import "slices"

// QueueMode says what becomes of a message that comes while a run of its session works.
type QueueMode string

// The queue modes; QueueInherit follows the configuration.
const (
	QueueInherit QueueMode = ""
	// QueueSteer gives the message to the run that works, at its next boundary.
	QueueSteer QueueMode = "steer"
	// QueueFollowup works each message as a run of its own, one after the other.
	QueueFollowup QueueMode = "followup"
	// QueueCollect works all that has come in the meantime as one run.
	QueueCollect QueueMode = "collect"
	// QueueInterrupt ends the run that works and goes on with the message.
	QueueInterrupt QueueMode = "interrupt"
)

// Valid reports whether it is one of the modes, or QueueInherit.
func (m QueueMode) Valid() bool {
	return slices.Contains([]QueueMode{QueueInherit, QueueSteer, QueueFollowup, QueueCollect, QueueInterrupt}, m)
}

// AbortCause says who has asked for the end of a run that works.
type AbortCause int

// The causes; AbortNone: nobody has. They are stored by their numbers.
const (
	AbortNone     AbortCause = 0
	AbortStopped  AbortCause = 1 // a person
	AbortReplaced AbortCause = 2 // a newer message, see [QueueInterrupt]
)
