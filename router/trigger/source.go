package trigger

import (
	"context"
	"time"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// Source says what follows from the triggers of one kind. It is called by the workers of several partitions at once.
type Source interface {
	// Fire says what follows from a trigger that is due. It may change the detail of the trigger. After an error the trigger is
	// tried again later; the others of its partition go on.
	Fire(ctx context.Context, t *ledger.Trigger) (Effect, error)
}

// Planner is a source that stores its triggers itself, such as jobs with a schedule.
type Planner interface {
	Source
	// Version differs from the last one if Plan has something to do, such as after a change of the configuration.
	Version() int64
	// In reports whether the source has triggers to plan in a partition.
	In(partition int) bool
	// Plan stores and ends triggers of a partition.
	Plan(ctx context.Context, p Partition) error
}

// Ender is a source that is asked when a trigger has ended.
type Ender interface {
	// Ended may add to the change that stores the end, such as a message to somebody. It may also make a trigger that has
	// failed wait again, to be fired at its due time. It says whether the owner is told of a failure.
	Ended(ctx context.Context, t *ledger.Trigger, change *ledger.Change) (Tell, error)
}

// Tell says whether the owner is told of the end of a trigger.
type Tell int

// What an [Ender] may say.
const (
	TellUsual  Tell = iota // of a failure, unless the trigger before it failed too
	TellNow                // of a failure, in any case
	TellNobody             // nobody is told, or the source has told somebody
)

// Partition is what a [Planner] plans.
type Partition struct {
	Number int
	Epoch  int64
	Open   []ledger.Trigger // all open triggers of the source there, except what exceeds a bound
	Commit func(ctx context.Context, change ledger.Change) error
}

// Effect is what follows from a trigger. Exactly one of End, Wait, Run and nothing is set; nothing means that Text is delivered.
type Effect struct {
	End  ledger.TriggerStatus // nothing follows, and this is the trigger's end
	Why  string               // of End
	Wait time.Duration        // fire it again after this time
	Run  *Run                 // an agent works, and its reply is delivered

	Text    string
	Deliver ledger.TriggerDelivery // of the text, or of the run's reply
	// Change is stored together with the effect. If a new trigger in it is stored already, the effect is stored without all new
	// ones, and a [Planner] plans again.
	Change ledger.Change
	// Skipped is stored in place of Change if the run can't begin, because another one works in a session that is to be empty.
	Skipped ledger.Change
	Stored  func() // called once the effect is stored; may be nil
}

// Run is what an agent is asked to do.
type Run struct {
	Session sessions.Key
	// Fresh: an existing session of the key is replaced by an empty one. If a run works in it, the trigger is skipped, or waits if it has begun.
	Fresh      bool
	Agent      string // of a new session
	Model      string // of a new session; empty: the agent's
	Text       string
	Quotations []sessions.Quotation // what others have said, such as the payload of a request
	Label      flow.Label           // of both
	// Owner: the run has the rights of an owner. Only what an owner has configured may have them.
	Owner bool
	// Clearance bounds that of a new session; invalid: that of an owner's session.
	Clearance flow.Level
	Timeout   time.Duration // of the work, from its start; 0: as configured
	// Busy says what follows instead if a run works in the session. nil: the run waits its turn; if Fresh, the trigger is skipped.
	Busy func(t *ledger.Trigger) Effect
}
