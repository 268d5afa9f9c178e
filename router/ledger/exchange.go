package ledger

import (
	"time"

	"sluice/announce"
	"sluice/policy/flow"
	"sluice/sessions"
)

// Exchange is a stored exchange with what the router needs to carry it.
type Exchange struct {
	announce.Exchange
	Key      string         // names the request for ever: asked again, it is this one; empty: nobody can ask it again
	Revision int64          // 1 when it is new; grows with each step
	First    sessions.RunID // of the request
	Run      sessions.RunID // of the step that it waits for; of the last one once it has ended
	Chain    sessions.Chain
	Label    flow.Label // join of all that was said in it
	// Route is where a task is reported: where the requester was spoken to. Zero for
	// a request, which is announced where the target speaks.
	Route sessions.Route
}

// ToolCallPrefix begins the key of a request that a tool call has made. Only the call's run can repeat it.
const ToolCallPrefix = "tool/"

// ChainUse is what the runs of a chain have used together.
type ChainUse struct {
	ID      string
	Steps   int
	Tokens  int
	Started time.Time
}

// ExchangeQuery selects exchanges. Zero fields but MaxLevel select everything.
type ExchangeQuery struct {
	// MaxLevel: those with a label above it, and those of which a side has a taint above it, are not there at all; invalid selects nothing.
	MaxLevel  flow.Level
	Requester sessions.ID
	Target    sessions.ID
	Kind      announce.Kind
	Open      bool   // only those that have not ended
	Limit     int    // at most 200; 0 is 50
	After     string // id of the last one of the page before; empty for the first page
	Bound     *Bound // nil: rows are counted only
}
