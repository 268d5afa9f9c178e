// Package turn has runs: a run is the work on one input to one session, until it ends. It also has what an input orders, and
// how inputs that come together wait for each other.
package turn

import (
	"encoding/json"
	"fmt"
	"time"

	"sluice/policy/flow"
	"sluice/sessions/address"
	"sluice/sessions/message"
)

// RunStatus is where a run stands. A run ends in exactly one terminal status.
type RunStatus string

// The run statuses; Queued and Running are not terminal. Dropped is a queue overflow, told to the sender.
const (
	RunQueued  RunStatus = "queued"
	RunRunning RunStatus = "running"
	RunDone    RunStatus = "done"
	RunFailed  RunStatus = "failed"
	RunTimeout RunStatus = "timeout"
	RunAborted RunStatus = "aborted"
	RunDropped RunStatus = "dropped"
)

// Terminal reports whether the run has ended.
func (s RunStatus) Terminal() bool { return s != RunQueued && s != RunRunning }

// RunKind says what caused a run.
type RunKind string

// The run kinds. Ask, reply, announce, task and report are the steps of an exchange between two agents.
const (
	KindMessage  RunKind = "message"  // a person's message
	KindAsk      RunKind = "ask"      // another session's request
	KindReply    RunKind = "reply"    // what the other side of an exchange has said
	KindAnnounce RunKind = "announce" // say to the people of this session what came of an exchange
	KindTask     RunKind = "task"     // a sub-agent's work
	KindReport   RunKind = "report"   // a sub-agent reports the result of its work
	KindCommand  RunKind = "command"  // a person's command that is carried out in its turn, see [Order]
	KindNote     RunKind = "note"     // put into the session's transcript; nobody answers it
	KindTrigger  RunKind = "trigger"  // caused without a message, such as by a job; its EventKey begins with the trigger's key
)

// Step reports whether runs of the kind are steps of an exchange.
func (k RunKind) Step() bool {
	switch k {
	case KindAsk, KindReply, KindAnnounce, KindTask, KindReport:
		return true
	}
	return false
}

// Chain ties together all the runs that one run has caused, in whatever sessions.
type Chain struct {
	ID   string       `json:"id,omitempty"`   // empty for a run that no other has caused
	Hops []address.ID `json:"hops,omitempty"` // the sessions that have passed it on, the first one first
}

// Run is one input to one session, worked to its end.
type Run struct {
	ID        address.RunID
	Seq       int64 // arrival order, given by the store
	Session   address.ID
	Partition int
	Kind      RunKind
	Status    RunStatus
	Input     Input
	Route     address.Route // where the answer goes; zero for nowhere
	Label     flow.Label
	EventKey  string // unique for ever: "<channel>/<account>/<platform event>"

	Exchange string // that this run is a step of; empty for none
	Chain    Chain
	Timeout  time.Duration // bound of the work, from its start; 0: as configured

	Leader   address.RunID // the run that this one was merged into by the queue mode; empty for none
	Epoch    int64         // of the partition's owner that last started it
	Attempts int           // times it was started

	Reply    string       // the final text, once done
	Calls    []ClientCall // of the client's functions, with which the run has ended
	Error    string       // told to people and programs; never an internal text
	Model    string
	Usage    message.Usage
	Accepted time.Time
	Started  time.Time // zero until then
	Finished time.Time // zero until then
}

// Speaker is who speaks to the session by the run, as a principal; empty for nobody, which another agent is, too.
func (r *Run) Speaker() string {
	if r.Input.Sender.ID == "" || r.Kind.Step() || r.Kind == KindNote {
		return ""
	}
	return address.Principal(r.Route.Channel, r.Input.Sender.ID)
}

// Input is what a run works on.
type Input struct {
	Text        string                    `json:"text"`
	Sender      address.Peer              `json:"sender"`
	Attachments []message.Attachment      `json:"attachments,omitempty"`
	Owner       bool                      `json:"owner,omitempty"`     // the sender is one of the owners
	MessageID   address.PlatformMessageID `json:"messageId,omitempty"` // the platform's id of the message
	Quotations  []message.Quotation       `json:"quotations,omitempty"`
	Unread      string                    `json:"unread,omitempty"` // a part of the message that could not be read
	// NewThread: it is the first message to the session in a thread that others have started.
	NewThread bool `json:"newThread,omitempty"`
	// Order is what the run does to its session; nil for an ordinary message.
	Order *Order `json:"order,omitempty"`
	// More: the sender's next message there may belong to this one, if it follows at once.
	More bool `json:"more,omitempty"`
	// History is what happened in the conversation since the last answer without being said to the agent, oldest first.
	History []HistoryLine `json:"history,omitempty"`
	// Functions are those that the client of the run offers to its agent.
	Functions []Function `json:"functions,omitempty"`
}

// Function is something that a client does for an agent. A run that calls functions ends with the calls; the client's next
// message brings their results.
type Function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // a JSON Schema
	Level       flow.Level      `json:"level"`                // the highest level that its calls may carry
}

// ClientCall is a call of a client's function.
type ClientCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"` // a JSON object
}

// HistoryLine is one message of a group that was not addressed to the agent.
type HistoryLine struct {
	Sender address.Peer `json:"sender"`
	Text   string       `json:"text"`
	At     time.Time    `json:"at"`
	// Quotations are other people's words that the message carries.
	Quotations []message.Quotation `json:"quotations,omitempty"`
	// MessageID is the platform's id of the message; empty if the input is not a message.
	MessageID address.PlatformMessageID `json:"messageId,omitempty"`
	Label     flow.Label                `json:"label"`
}

// WorkError is why a run did not come to an answer.
type WorkError struct {
	Status RunStatus // failed, timeout or aborted
	Public string    // a sentence for the person who waits; never an internal text
	Err    error     // for the operator
}

// Error implements error.
func (e *WorkError) Error() string { return fmt.Sprintf("run %s: %v", e.Status, e.Err) }

// Unwrap gives the cause.
func (e *WorkError) Unwrap() error { return e.Err }
