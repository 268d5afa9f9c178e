package work

import (
	"context"
	"time"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/attach"
	"sluice/router/exchange"
	"sluice/router/lanes"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/router/quota"
	"sluice/sessions"
)

// Store is the part of the database that the work of a session needs.
type Store interface {
	WaitingRuns(ctx context.Context, id sessions.ID, limit int) ([]sessions.Run, error)
	Session(ctx context.Context, id sessions.ID) (sessions.Record, error)
	SessionByKey(ctx context.Context, key sessions.Key) (sessions.Record, error)
	Run(ctx context.Context, id sessions.RunID) (sessions.Run, error)
	AbortRequested(ctx context.Context, id sessions.RunID) (sessions.AbortCause, error)
	RunDelivery(ctx context.Context, id sessions.RunID) (ledger.Delivery, error)
	LaneDeliveries(ctx context.Context, lane sessions.Lane, limit int) ([]ledger.Delivery, error)
	Commit(ctx context.Context, change ledger.Change) error
	CommitSession(ctx context.Context, change sessions.Change) error
}

// Lanes limits how many sub-agents work, wakes the lanes that a change gives work to, and reserves idle ones, see
// [lanes.Lanes].
type Lanes interface {
	Reserve(partition int, name sessions.Lane) (lanes.Reserved, bool)
	Commit(ctx context.Context, change ledger.Change) error
	WakeFor(change ledger.Change)
	EnterTask(lane *lanes.Lane, most int) (leave func(), ok bool)
}

// Steps knows which steps of exchanges the bus has delivered, see [steps.Steps].
type Steps interface {
	// Ready returns the waiting runs that can be worked, and when to look for the others; 0: when woken.
	Ready(ctx context.Context, session sessions.ID, waiting []sessions.Run) (ready []sessions.Run, again time.Duration, err error)
}

// Fetch fetches the files of a message, see [attach.Fetcher].
type Fetch func(ctx context.Context, run *sessions.Run, space *quota.Files) attach.Fetched

// Monitor checks what enters a session, see [policy.Monitor].
type Monitor interface {
	Enter(e policy.Entry) policy.Decision
	MayRise(record sessions.Record, route sessions.Route, label flow.Label) bool
}

// Gate decides what may be shown of an unfinished answer.
type Gate interface {
	Decide(e policy.Egress) policy.Decision
	// SinkLevel is the highest level that may be sent on a route.
	SinkLevel(route sessions.Route) flow.Level
}

// Composer creates deliveries.
type Composer interface {
	Delivery(kind ledger.DeliveryKind, route sessions.Route, text string, label flow.Label) ledger.Delivery
	// NewMedia creates a file to be stored and sent.
	NewMedia(f outbound.NewFile, label flow.Label) ledger.Media
	// Withdraw ends previews that have no answer.
	Withdraw(preview []ledger.DeliveryMove) []ledger.DeliveryMove
}

// Outbox sends answers, see [outbound.Outbox].
type Outbox interface {
	// Begin adds an answer to a change, with the intent to send it if it can be sent at once.
	Begin(ctx context.Context, change *ledger.Change, d ledger.Delivery, batch []sessions.Run) *outbound.Begun
}

// Receipts has platform answers that the store does not have yet.
type Receipts interface {
	Keep(d ledger.Delivery)
	Drop(id ledger.DeliveryID)
	Of(id ledger.DeliveryID) (ledger.Delivery, bool)
}

// Quotas says how much space a session has left for files.
type Quotas interface {
	Of(id sessions.ID) *quota.Files
}

// Exchanges records the end of a step in its exchange, see [exchange.Exchanges].
type Exchanges interface {
	Advance(ctx context.Context, change *ledger.Change, end exchange.End) (say string, err error)
}

// Approvals lets people decide about tool calls.
type Approvals interface {
	// Of creates the approver of a run of an opened session; record is the session at the start of the run.
	Of(session *sessions.Session, record *sessions.Record, run *sessions.Run) Approver
}
