package sessions

import (
	"context"
	"encoding/json"
	"time"

	"sluice/policy/flow"
)

// Tool is something an agent can do. Every field but Idempotent, Timeout and SubAgent is required;
// a registry refuses a tool without its flow.
type Tool struct {
	Spec ToolSpec
	Flow ToolFlow
	// Idempotent tools may be run again after a crash; any other is reported as interrupted.
	Idempotent bool
	// Timeout bounds one call; 0 is [ToolTimeout].
	Timeout time.Duration
	// Run does the work. Args is a JSON object that still has to be checked. An
	// error is shown to the model as the call's failure: it must name the
	// parameter and must not tell a hidden thing from an absent one.
	Run func(ctx context.Context, caller Caller, args json.RawMessage) (ToolResult, error)
	// SubAgent makes it a sub-agent tool: a child session works its calls, and Run is not used. Nil for all others.
	SubAgent SubAgent
}

// ReadOnly reports whether the tool changes nothing: it declares that its data goes nowhere but to the model.
func (t Tool) ReadOnly() bool { return t.Flow.Writes == FlowNone }

// ToolFlow declares where a tool's data comes from and goes to, for the monitor below the tools.
type ToolFlow struct {
	Reads  FlowEnd
	Writes FlowEnd
}

// FlowEnd is one end of a tool's data flow. Its zero value is invalid.
type FlowEnd string

// The flow ends.
const (
	FlowNone     FlowEnd = "none"
	FlowSession  FlowEnd = "session"  // this or another session's content
	FlowDelivery FlowEnd = "delivery" // a text on its way out; the gate decides at delivery
)

// Caller is who calls a tool. It comes from the runtime, never from arguments.
type Caller struct {
	Session ID
	Key     Key
	Agent   string
	Run     RunID
	CallID  string
	Taint   flow.Label    // live taint at the call
	Route   Route         // of the run
	Owner   bool          // the run's sender is an owner
	Sandbox SandboxConfig // how commands run
	Chain   Chain         // of the run
}

// ToolResult is what a call gave.
type ToolResult struct {
	Text  string     // shown to the model; usually JSON
	Label flow.Label // of what was read; the session joins it
}
