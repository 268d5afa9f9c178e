package policy

import (
	"time"

	"sluice/sessions"
)

// Input is what the rules of a hook see. What a hook does not have is empty. In the expressions the
// fields have the names of their cel tags, and levels are the numbers PUBLIC < INTERNAL < CONFIDENTIAL < RESTRICTED.
type Input struct {
	// ID names what is decided about, so that it counts once for a rate however often it is asked.
	ID   string
	Hook Hook
	Now  time.Time

	Session SessionInput
	Tool    ToolInput
	Output  OutputInput
	Secret  SecretInput
	Agent   AgentInput
	// Text is what enters, leaves or was answered.
	Text string
	// Parts are what Text was put together from, each redacted by itself; nil: it is one piece.
	Parts []string
	// Partial: Text is the beginning of one that is still being written.
	Partial bool
	// Source says where a text of PRE_CONTEXT_INJECTION is from: message, agent, note, memory.
	Source string
}

// redactable are the texts out of which a rule takes something, each by itself: of a call the strings of its arguments.
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

// SessionInput is the session that acts.
type SessionInput struct {
	ID        string `cel:"id"`
	Key       string `cel:"key"`
	Agent     string `cel:"agent"`
	Level     int    `cel:"level"` // of what it has learnt
	Trust     string `cel:"trust"` // trusted, untrusted
	Clearance int    `cel:"clearance"`
	Channel   string `cel:"channel"` // of the run's conversation
	ChatType  string `cel:"chatType"`
	User      string `cel:"user"`  // who speaks, "<channel>:<id>"; empty for nobody
	Owner     bool   `cel:"owner"` // an owner speaks
}

// ToolInput is a call.
type ToolInput struct {
	Name   string         `cel:"name"`
	Args   map[string]any `cel:"args"`
	Server string         `cel:"server"` // MCP server; empty for the gateway's own tools
	Reads  string         `cel:"reads"`
	Writes string         `cel:"writes"`
	Sink   int            `cel:"sink"` // level of the outside that it writes to; 0: none
}

// OutputInput is where a text is to go.
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
	Kind string `cel:"kind"` // one of [InvocationKinds]
	To   string `cel:"to"`   // the session or agent as the call names it, or the session's key
}

// InvocationKinds lists how one session has another work: by the tool that it calls, and by the steps that follow from it.
func InvocationKinds() []string {
	return []string{"sessions_send", "sessions_spawn", string(sessions.KindReply), string(sessions.KindAnnounce), string(sessions.KindReport)}
}

// SessionOf is the part of a session in an input.
func SessionOf(record sessions.Record) SessionInput {
	return SessionInput{
		ID: string(record.ID), Key: string(record.Key), Agent: record.Agent,
		Level: record.Taint.Level().Rank(), Trust: record.Taint.Trust().String(), Clearance: record.Clearance.Rank(),
		Channel: record.Route.Channel, ChatType: string(record.Route.ChatType),
	}
}

// SpokenTo says who speaks to the session, a principal, and by which route; a zero one is where it was last spoken to.
func (s *SessionInput) SpokenTo(route sessions.Route, user string, owner bool) {
	if !route.IsZero() {
		s.Channel, s.ChatType = route.Channel, string(route.ChatType)
	}
	s.User, s.Owner = user, owner
}
