// Package port has what a session is given from outside: models, tools and sub-agents, the monitor that judges calls, the
// permission mode and the sandbox. All implementations are elsewhere.
package port

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"sluice/policy/flow"

	"sluice/sessions/address"
	"sluice/sessions/audit"
	"sluice/sessions/notes"
	"sluice/sessions/turn"
)

// Tool is something an agent can do. Spec, Flow and Run are required, Run not of a sub-agent tool;
// a registry refuses a tool without its flow.
type Tool struct {
	Spec ToolSpec
	Flow ToolFlow
	// Idempotent tools may be run again after a crash; any other is reported as interrupted.
	Idempotent bool
	// AsWritten: the tool gets its arguments as the model wrote them, with the names of secrets for the secrets, and with nothing taken out.
	// It is for a tool that only judges them.
	AsWritten bool
	// Timeout bounds one call; 0 is [ToolTimeout].
	Timeout time.Duration
	// Run does the work. Args is a JSON object that still has to be checked. An
	// error is shown to the model as the call's failure: it must name the
	// parameter and must not tell a hidden thing from an absent one.
	Run func(ctx context.Context, caller Caller, args json.RawMessage) (ToolResult, error)
	// Check says why a call would be refused, as Run would, without effects. Nil: the tool refuses only what is no call of it.
	Check func(ctx context.Context, caller Caller, args json.RawMessage) error
	// Beyond reports whether a call says something outside the conversation that it was made for. Nil: none does. It may
	// read the store, with ctx; an error says that this is not known, which counts as beyond.
	Beyond func(ctx context.Context, caller Caller, args json.RawMessage) (bool, error)
	// Named gives the parameters of a call their first names, for the monitor, its rules and the tool. Nil: none has a second one.
	Named func(args json.RawMessage) json.RawMessage
	// Remote is set for a tool of an MCP server.
	Remote *RemoteTool
	// Client is set for a function of a client: the name that the client knows it by. Its calls are handed to the client.
	Client string
	// SubAgent makes it a sub-agent tool: a child session works its calls, and Run is not used. Nil for all others.
	SubAgent SubAgent
}

// Arguments are a call's arguments under the first names of their parameters.
func (t Tool) Arguments(args json.RawMessage) json.RawMessage {
	if t.Named == nil {
		return args
	}
	return t.Named(args)
}

// RemoteTool says where a tool really is.
type RemoteTool struct {
	Server string // as the configuration names it
	Name   string // as the server names it
}

// ReadOnly reports whether the tool changes nothing: it declares that its data goes nowhere but to the model.
func (t Tool) ReadOnly() bool { return t.Flow.Writes == FlowNone }

// ToolFlow declares where a tool's data comes from and goes to, for the monitor below the tools.
type ToolFlow struct {
	Reads  FlowEnd
	Writes FlowEnd
	// Source is the label of what a tool that reads [FlowOutside] brings in; required there.
	Source flow.Label
	// Sink is the highest level that may be said to a tool that writes [FlowOutside]; required there.
	// Asking is saying: a query string counts.
	Sink flow.Level
	// Setting is the configuration key of Sink, for the error of a session that is above it.
	Setting string
}

// Check says what a declaration lacks.
func (f ToolFlow) Check() error {
	ends := []FlowEnd{FlowNone, FlowSession, FlowAgent, FlowMemory, FlowDelivery, FlowOutside}
	switch {
	case !slices.Contains(ends, f.Reads) || !slices.Contains(ends, f.Writes):
		return errors.New("does not declare what it reads and writes")
	case f.Reads == FlowOutside && !f.Source.Valid():
		return errors.New("does not declare the label of its results")
	case f.Writes == FlowOutside && !f.Sink.Valid():
		return errors.New("does not declare the highest level that it may receive")
	case f.Writes == FlowOutside && f.Setting == "":
		return errors.New("does not name the setting of its level")
	}
	return nil
}

// Outside reports whether one end is outside the gateway.
func (f ToolFlow) Outside() bool { return f.Reads == FlowOutside || f.Writes == FlowOutside }

// FlowEnd is one end of a tool's data flow. Its zero value is invalid.
type FlowEnd string

// The flow ends.
const (
	FlowNone     FlowEnd = "none"
	FlowSession  FlowEnd = "session"  // this or another session's content
	FlowAgent    FlowEnd = "agent"    // another session's agent, which works on what it is told
	FlowMemory   FlowEnd = "memory"   // what agents remember across sessions
	FlowDelivery FlowEnd = "delivery" // a text on its way out; the gate decides at delivery
	FlowOutside  FlowEnd = "outside"  // a server outside the gateway, with a level of its own
)

// Caller is who calls a tool. It comes from the runtime, never from arguments.
type Caller struct {
	Session address.ID
	Key     address.Key
	Agent   string
	Run     address.RunID
	CallID  string
	Taint   flow.Label // live taint at the call
	// Clearance is the highest level that the session may ever reach.
	Clearance flow.Level
	Route     address.Route  // of the run
	Owner     bool           // the run's sender is an owner
	User      string         // who speaks, as a principal; empty for nobody
	Sandbox   SandboxConfig  // how commands run
	Chain     turn.Chain     // of the run
	Audience  notes.Audience // whose memories it may read, and where what it saves belongs
	Reader    flow.Level     // who is told what the call would come to sees at most that; invalid: all that the session does
	Trail     *audit.Trail   // for what the operator is to know and the model is not; nil for none
}

// ToolResult is what a call gave.
type ToolResult struct {
	Text  string     // shown to the model; usually JSON
	Label flow.Label // of what was read; the session joins it
	// Failed: the call failed, and Text is what came from outside about it. An error says what the gateway
	// itself has to say, and has the caller's label.
	Failed bool
}
