package policy

import "slices"

// Hook is a point at which rules are evaluated. They run on the goroutine that does the work, before the effect that
// they are about.
type Hook string

// The hooks.
const (
	// PreContextInjection: a text from outside is about to become part of a session's thread.
	PreContextInjection Hook = "PRE_CONTEXT_INJECTION"
	// PreToolCall: a tool is about to run.
	PreToolCall Hook = "PRE_TOOL_CALL"
	// PostToolResponse: a tool has returned; its session has not read the result yet.
	PostToolResponse Hook = "POST_TOOL_RESPONSE"
	// PreOutput: a text is about to be sent through a channel.
	PreOutput Hook = "PRE_OUTPUT"
	// SecretAccess: a call names a secret, which is about to be inserted.
	SecretAccess Hook = "SECRET_ACCESS"
	// SessionReset: a session is about to be replaced by an empty one, or deleted.
	SessionReset Hook = "SESSION_RESET"
	// AgentInvocation: another session is about to work on a session's text.
	AgentInvocation Hook = "AGENT_INVOCATION"
	// MCPToolCall: a tool of an MCP server is about to run. It fires after PRE_TOOL_CALL.
	MCPToolCall Hook = "MCP_TOOL_CALL"
)

// Hooks lists the hooks.
func Hooks() []Hook {
	return []Hook{PreContextInjection, PreToolCall, PostToolResponse, PreOutput, SecretAccess, SessionReset, AgentInvocation, MCPToolCall}
}

// Actions are the possible actions of the hook's rules. No rule allows anything: the fixed checks and the send policy
// decide what no rule forbids, and no rule can overrule them.
func (h Hook) Actions() []Action {
	switch h {
	case PreToolCall, MCPToolCall, AgentInvocation, PreOutput:
		return []Action{Block, Redact, Hold}
	case PreContextInjection, PostToolResponse:
		return []Action{Block, Redact}
	case SecretAccess:
		return []Action{Block, Hold}
	case SessionReset:
		return []Action{Block}
	}
	return nil
}

func (h Hook) known() bool { return slices.Contains(Hooks(), h) }
