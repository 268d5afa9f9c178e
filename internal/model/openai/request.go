package openai

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"sluice/internal/model/wire"
	"sluice/sessions"
)

type request struct {
	Model         string        `json:"model"`
	Stream        bool          `json:"stream"`
	StreamOptions streamOptions `json:"stream_options"`
	MaxTokens     int           `json:"max_completion_tokens,omitempty"`
	Temperature   *float32      `json:"temperature,omitempty"`
	Effort        string        `json:"reasoning_effort,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type message struct {
	Role       string     `json:"role"`
	Content    any        `json:"content"` // a text, nil, or a list of blocks if there are pictures
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

// block is an element of a content list.
type block struct {
	Type     string    `json:"type"` // text or image_url
	Text     string    `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function functionCall `json:"function"`
}

type functionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// effort is the API's name for how much the model reasons; empty: the server's default.
func effort(level sessions.ThinkingLevel) string {
	if level == sessions.ThinkingOff {
		return "none"
	}
	return string(level)
}

func newRequest(model string, req *sessions.Request) request {
	return request{
		Model: model, Stream: true, StreamOptions: streamOptions{IncludeUsage: true},
		MaxTokens: req.MaxTokens, Temperature: req.Temperature, Effort: effort(req.Thinking),
	}
}

func text(role, content string) message { return message{Role: role, Content: content} }

func messagesOf(m sessions.Message) []message {
	switch m.Role {
	case sessions.RoleAssistant:
		return []message{assistant(m)}
	case sessions.RoleToolResult:
		var results []message
		for _, p := range m.Parts {
			result := text("tool", p.Text)
			result.ToolCallID = p.CallID
			results = append(results, result)
		}
		return results
	case sessions.RoleAgent:
		return []message{text("user", wire.AgentHead(m)+content(m))}
	case sessions.RoleSummary:
		return []message{text("user", wire.SummaryHead+m.Text())}
	}
	pictures := picturesOf(m)
	if pictures == nil {
		return []message{text("user", content(m))}
	}
	if t := content(m); t != "" {
		pictures = append(pictures, block{Type: "text", Text: t})
	}
	return []message{{Role: "user", Content: pictures}}
}

func assistant(m sessions.Message) message {
	out := message{Role: "assistant"}
	if t := m.Text(); t != "" {
		out.Content = t
	}
	for _, p := range m.ToolCalls() {
		out.ToolCalls = append(out.ToolCalls, toolCall{ID: p.CallID, Type: "function", Function: functionCall{p.Tool, string(wire.Args(string(p.Args)))}})
	}
	if out.Content == nil && out.ToolCalls == nil {
		out.Content = ""
	}
	return out
}

// picturesOf returns the pictures of a message that the model gets.
func picturesOf(m sessions.Message) []block {
	var blocks []block
	for _, p := range m.Parts {
		if wire.IsPicture(p) {
			data := base64.StdEncoding.EncodeToString(p.Content)
			blocks = append(blocks, block{Type: "image_url", ImageURL: &imageURL{"data:" + p.Attachment.MIME + ";base64," + data}})
		}
	}
	return blocks
}

// content returns a person's message with a description of its other attachments.
func content(m sessions.Message) string {
	texts := []string{m.Text()}
	for _, p := range m.Parts {
		if p.Type == sessions.PartAttachment && p.Attachment != nil && !wire.IsPicture(p) {
			texts = append(texts, wire.Describe(p.Attachment))
		}
	}
	return strings.TrimPrefix(strings.Join(texts, "\n"), "\n")
}
