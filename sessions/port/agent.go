package port

import (
	"context"
	"encoding/json"

	"sluice/policy/flow"

	"sluice/sessions/prompt"
	"sluice/sessions/record"
)

// Agent is what an agent brings to a session.
type Agent struct {
	ID           string
	Name         string               // how it calls itself; empty: the id
	SystemPrompt string               // fixed text; used where there is no Prompt
	Prompt       *prompt.Prompt       // template of the system prompt
	Workspace    string               // its folder, an absolute path; empty for none
	Tools        []Tool               // not to be changed: sessions may share the list
	Specs        []ToolSpec           // of Tools, where they are there already; nil: the session makes them
	Sandbox      SandboxSettings      // of the commands of its tools
	Thinking     record.ThinkingLevel // default of its sessions; empty leaves it to the provider
	Verbose      record.VerboseLevel  // default of its sessions
	Temperature  record.Temperature   // default of its sessions; empty leaves it to the provider
	MaxTokens    int                  // of an answer, default of its sessions; 0 leaves it to the provider
}

// SubAgent plans the child session that works a call of a sub-agent tool. An error is
// shown to the model as the call's failure, as that of [Tool.Run].
type SubAgent func(ctx context.Context, caller Caller, args json.RawMessage) (SubAgentPlan, error)

// SubAgentPlan is what a child session is to be. It may narrow what the parent is
// allowed, never widen it: what it asks for beyond that is cut off.
type SubAgentPlan struct {
	Agent       Agent              // prompt and tools of the child; an empty id is the parent's
	Model       Model              // nil is the parent's
	Task        string             // the child's first message
	Description string             // short, for display; the child's title
	Permission  PermissionMode     // empty is the parent's
	Files       *record.FileAccess // nil is the parent's
	Clearance   flow.Level         // zero is the parent's
	// Start gives the child, with its task, to someone who works it later. Its result is the result of the call, which
	// does not wait for the child. It may run again after a crash, with a child that has the same id. Nil: the caller of
	// the session runs the child.
	Start func(ctx context.Context, child record.Record) (ToolResult, error)
}
