package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"sluice/agentkit"
	"sluice/internal/telemetry"
	"sluice/sessions"
)

// turnMax is the size of a turn, in bytes, at most: what a message on the bus may have, with some room.
const turnMax = 900 << 10

// encode makes the event of a turn. If it would be too large, it leaves out the oldest messages.
func (w *worked) encode(ctx context.Context, id string, req *sessions.Request) ([]byte, error) {
	e := agentkit.Event{
		SpecVersion: "1.0", ID: id, Source: "/sessions/" + string(w.run.Session), Type: agentkit.TypeTurn, Subject: string(w.run.ID),
		Time: w.Now().UTC(), ContentType: "application/json",
		Data: agentkit.Turn{
			Run: string(w.run.ID), Session: string(w.run.Session), Agent: w.Agent, Label: w.label().String(), System: req.System,
			Thinking: string(req.Thinking), Temperature: req.Temperature, MaxTokens: req.MaxTokens, Tools: toolsOf(req.Tools),
		},
	}
	e.Data.TraceParent = telemetry.From(ctx).Header()
	if deadline, ok := ctx.Deadline(); ok {
		e.Data.Deadline = deadline.UTC()
	}
	head, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode turn: %w", err)
	}
	room := turnMax - len(head)
	first := len(req.Messages)
	var messages []agentkit.Message
	for ; first > 0; first-- {
		m := messageOf(&req.Messages[first-1])
		text, err := json.Marshal(m)
		if err != nil {
			return nil, fmt.Errorf("encode turn: %w", err)
		}
		if room -= len(text) + 1; room < 0 {
			break
		}
		messages = append(messages, m)
	}
	for first < len(req.Messages) && req.Messages[first].Role == sessions.RoleToolResult { // its call is left out
		messages = messages[:len(messages)-1]
		first++
	}
	if len(messages) == 0 {
		return nil, errors.New("the last message is too large for a turn")
	}
	e.Data.Earlier = first
	for i := range messages {
		e.Data.Messages = append(e.Data.Messages, messages[len(messages)-1-i])
	}
	text, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode turn: %w", err)
	}
	return text, nil
}

func toolsOf(specs []sessions.ToolSpec) []agentkit.Tool {
	tools := make([]agentkit.Tool, len(specs))
	for i, s := range specs {
		tools[i] = agentkit.Tool{Name: s.Name, Description: s.Description, Parameters: s.Parameters}
	}
	return tools
}

// roles are the names of roles in turns.
var roles = map[sessions.Role]string{
	sessions.RoleUser: agentkit.RoleUser, sessions.RoleAgent: agentkit.RoleAgent, sessions.RoleAssistant: agentkit.RoleAssistant,
	sessions.RoleToolResult: agentkit.RoleTool, sessions.RoleSummary: agentkit.RoleSummary,
}

func messageOf(m *sessions.Message) agentkit.Message {
	out := agentkit.Message{Role: roles[m.Role], Sender: m.Sender.Name}
	if m.Role != sessions.RoleToolResult {
		out.Text = m.Text()
	}
	for _, p := range m.Parts {
		switch p.Type {
		case sessions.PartToolCall:
			args := p.Args
			if len(args) == 0 || !json.Valid(args) {
				args = json.RawMessage("{}")
			}
			out.Calls = append(out.Calls, agentkit.Call{ID: p.CallID, Name: p.Tool, Arguments: args})
		case sessions.PartToolResult:
			out.Results = append(out.Results, agentkit.Result{ID: p.CallID, Name: p.Tool, Text: p.Text, Error: p.Error})
		case sessions.PartAttachment:
			if a := p.Attachment; a != nil {
				out.Attachments = append(out.Attachments, agentkit.Attachment{Kind: a.Kind, Name: a.Name, MIME: a.MIME, Size: a.Size, Note: a.Note})
			}
		}
	}
	return out
}
