package port

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"sluice/internal/spending"
	"sluice/policy/flow"

	"sluice/sessions/address"
	"sluice/sessions/audit"
	"sluice/sessions/record"
)

// Monitor judges what a session's tools do, below them: no tool is run, and nothing that one gives is
// learnt, without its word. All but Reach are asked with the session locked, so that the answer is about what the session has
// learnt by then: they must not wait for anything, nor call the session.
type Monitor interface {
	// Reach looks up where a call's words go. It may wait for the store, so it is asked while the session is not locked; it
	// ends with ctx. What it gives is in the [MonitoredCall] of Call.
	Reach(ctx context.Context, c MonitoredCall) Reach
	// Call judges a call that may run. Without effects nothing is counted and nothing is to be recorded.
	Call(c MonitoredCall, effects bool) CallVerdict
	// Response judges what a call gave before the session learns it, and gives what it may learn.
	Response(c MonitoredCall, r Response) (Response, []audit.Entry)
	// Model reports whether a model may be told what the session has learnt.
	Model(record record.Record, model Model) (may bool, entries []audit.Entry)
}

// MonitoredCall is a call as the monitor sees it.
type MonitoredCall struct {
	Record  record.Record     // of the session; its taint is live
	Message address.MessageID // of the answer that asks for the call
	CallID  string            // unique in that answer alone: the model gives it
	Tool    Tool
	Args    json.RawMessage // a JSON object, as the model wrote it
	// Approved: somebody has said yes to this call.
	Approved bool
	// Reach is what [Monitor.Reach] said of this call, shortly before.
	Reach Reach
}

// Ruling is what becomes of a call.
type Ruling int

// The rulings, mildest first.
const (
	RulingRun Ruling = iota
	RulingAsk
	RulingRefuse
)

// CallVerdict is what the monitor says of a call.
type CallVerdict struct {
	Ruling Ruling
	Reason string          // of an ask, for the person who decides; of a refusal, for the model
	Terms  Terms           // of an ask
	Args   json.RawMessage // what the tool gets
	Audit  []audit.Entry   // with effects
}

// Terms say who may decide about a call or an outgoing text that waits for approval, and until when.
type Terms struct {
	// Approvers has lists of principals: an approver must be in each list. An empty list means the owners. Without a
	// list, the owners decide.
	Approvers [][]string    `json:"approvers,omitempty"`
	Timeout   time.Duration `json:"timeout,omitempty"` // 0: the usual time
	// AllowOnTimeout allows the call if no one decides in time.
	AllowOnTimeout bool `json:"lapse,omitempty"`
	// Rules are the rules and checks that ask, for the person who decides.
	Rules []string `json:"rules,omitempty"`
	// Level is the most that a yes may let the session learn or tell. Invalid: it is not known, and may be anything.
	Level flow.Level `json:"level,omitzero"`
	// Raise: a yes raises the limit of a budget. Only the owners decide. Nil: it is not about a budget.
	Raise *spending.Raise `json:"raise,omitempty"`
}

// Same reports whether the same people may decide, and silence means the same. Terms that were stored without a level are not asked for theirs.
func (t Terms) Same(other Terms) bool {
	return (t.Level == other.Level || !t.Level.Valid() || !other.Level.Valid()) && t.AllowOnTimeout == other.AllowOnTimeout && slices.EqualFunc(t.Approvers, other.Approvers, slices.Equal[[]string])
}

// Response is what a call gave, or why it failed.
type Response struct {
	Text  string
	Error bool
	Label flow.Label // of what was read
}

// Reach says where a call's words go.
type Reach int

// The reaches. An unknown reach counts as beyond, so a call needs approval if the lookup failed, took too long or was not
// made.
const (
	ReachUnknown Reach = iota
	ReachHere          // only the conversation that the call was made for
	ReachBeyond        // another one
)
