package ledger

import (
	"time"

	"sluice/announce"
	"sluice/policy/flow"
	"sluice/sessions"
)

// Exchange is a stored exchange, with what the router needs to continue it.
type Exchange struct {
	announce.Exchange
	Key      string         // names the request for ever: a repeated request returns this exchange; may be empty
	Revision int64          // 1 for a new one; grows with each step
	First    sessions.RunID // of the request
	Run      sessions.RunID // the current step's; the last step's if it has ended
	Chain    sessions.Chain
	Label    flow.Label // join of everything that was said in it
	// Route is where a task is reported: where the requester was addressed. Zero for a request, which is announced
	// where the target speaks.
	Route sessions.Route
}

// ToolCallPrefix is the prefix of the key of a request from a tool call. Only the call's run can repeat it.
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
	// MaxLevel: exchanges with a label above it, and those with a side whose taint is above it, are left out; invalid
	// selects nothing.
	MaxLevel  flow.Level
	Requester sessions.ID
	Target    sessions.ID
	Kind      announce.Kind
	Open      bool   // only those that have not ended
	Limit     int    // at most 200; 0 is 50
	After     string // id of the last row of the previous page; empty for the first page
	Bound     *Bound // nil: only rows are counted
}
