package policy

import (
	"encoding/json"
	"time"

	"sluice/sessions"
)

// Input is what the rules of a hook see. Fields that do not apply to a hook are empty. In the expressions the fields
// have the names of their cel tags, and levels are the numbers PUBLIC < INTERNAL < CONFIDENTIAL < RESTRICTED.
type Input struct {
	// ID names the object of the decision, so that a rate counts it once however often it is checked.
	ID   string
	Hook Hook
	Now  time.Time

	Session SessionInput
	Tool    ToolInput
	Output  OutputInput
	Secret  SecretInput
	Agent   AgentInput
	// Text is the text that enters, was returned or is sent.
	Text string
	// Parts are the parts of Text, redacted separately; nil: Text is the only part.
	Parts []string
	// Partial: Text is the beginning of an unfinished text.
	Partial bool
	// Source is the source of a text of PRE_CONTEXT_INJECTION: message, agent, note, memory or skill.
	Source string
}

// redactable are the texts that a rule redacts separately: for a call, the strings in its arguments.
func (in *Input) redactable() []string {
	switch {
	case in.Hook == PreToolCall, in.Hook == MCPToolCall, in.Hook == AgentInvocation && in.Tool.Name != "":
		var texts []string
		mapValue(in.Tool.Args, func(text string) string {
			texts = append(texts, text)
			return text
		})
		return texts
	case in.Parts != nil:
		return in.Parts
	}
	return []string{in.Text}
}

// SessionInput is the acting session.
type SessionInput struct {
	ID        string `cel:"id"`
	Key       string `cel:"key"`
	Agent     string `cel:"agent"`
	Level     int    `cel:"level"` // of what it has learnt
	Trust     string `cel:"trust"` // trusted, untrusted
	Clearance int    `cel:"clearance"`
	Channel   string `cel:"channel"` // of the run's conversation
	ChatType  string `cel:"chatType"`
	User      string `cel:"user"`  // the speaker, "<channel>:<id>"; may be empty
	Owner     bool   `cel:"owner"` // whether the speaker is an owner
}

// ToolInput is a call.
type ToolInput struct {
	Name   string         `cel:"name"`
	Args   map[string]any `cel:"args"`
	Server string         `cel:"server"` // MCP server; empty for the gateway's own tools
	Reads  string         `cel:"reads"`
	Writes string         `cel:"writes"`
	Sink   int            `cel:"sink"` // level of the destination outside the gateway; 0: none
}

// ArgsOf are the arguments of a call. Those that are not an object have no fields; the tool refuses them.
func ArgsOf(args json.RawMessage) (fields map[string]any) {
	_ = json.Unmarshal(args, &fields)
	return fields
}

// OutputInput is the destination of a text.
type OutputInput struct {
	Channel  string `cel:"channel"`
	Account  string `cel:"account"`
	To       string `cel:"to"`
	Thread   string `cel:"thread"`
	ChatType string `cel:"chatType"`
	Kind     string `cel:"kind"`
	Level    int    `cel:"level"` // of the text
	Sink     int    `cel:"sink"`  // of the place
}

// SecretInput is a secret that a call names.
type SecretInput struct {
	Name  string `cel:"name"`
	Level int    `cel:"level"`
}

// AgentInput is an invocation of another session.
type AgentInput struct {
	Kind string `cel:"kind"` // sessions_send, sessions_spawn, reply, announce or report
	To   string `cel:"to"`   // the session or agent as the call names it, or the session's key
}

// SessionOf is the part of a session in an input.
func SessionOf(record sessions.Record) SessionInput {
	return SessionInput{
		ID: string(record.ID), Key: string(record.Key), Agent: record.Agent,
		Level: record.Taint.Level().Rank(), Trust: record.Taint.Trust().String(), Clearance: record.Clearance.Rank(),
		Channel: record.Route.Channel, ChatType: string(record.Route.ChatType),
	}
}

// SpokenTo sets the speaker, a principal, and the route of their message; with a zero route, the session's last one.
func (s *SessionInput) SpokenTo(route sessions.Route, user string, owner bool) {
	if !route.IsZero() {
		s.Channel, s.ChatType = route.Channel, string(route.ChatType)
	}
	s.User, s.Owner = user, owner
}

// variables are an input as expressions see it.
func (in *Input) variables() map[string]any {
	return map[string]any{
		"hook": string(in.Hook), "now": in.Now, "text": in.Text, "source": in.Source,
		"session": in.Session, "tool": in.Tool, "output": in.Output, "secret": in.Secret, "agent": in.Agent,
	}
}
