package anthropic

import (
	"encoding/json"
	"strings"

	"sluice/internal/model/wire"
	"sluice/sessions"
)

type request struct {
	Model       string    `json:"model"`
	System      []content `json:"system,omitempty"`
	MaxTokens   int       `json:"max_tokens"`
	Temperature *float32  `json:"temperature,omitempty"`
	Thinking    *thinking `json:"thinking,omitempty"`
	Stream      bool      `json:"stream"`
	Cache       *cache    `json:"cache_control,omitempty"` // up to the last message
}

// cache marks the end of what the provider keeps for a while, because the next request begins with it.
type cache struct {
	Type string `json:"type"` // ephemeral
}

// content is one block; which fields it has depends on its type.
type content struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"` // may be empty next to a signature
	Signature string          `json:"signature,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   string          `json:"content,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
	Source    *source         `json:"source,omitempty"`
	Cache     *cache          `json:"cache_control,omitempty"`
}

// source is the content of a picture.
type source struct {
	Type      string `json:"type"` // base64
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"` // encoding/json encodes bytes as base64
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

func newRequest(model string, req *sessions.Request) request {
	r := request{Model: model, System: system(req), MaxTokens: req.MaxTokens, Temperature: req.Temperature, Stream: true}
	if r.MaxTokens == 0 {
		r.MaxTokens = defaultMaxTokens
	}
	r.think(req.Thinking, req.Messages)
	return r
}

// system is the system prompt. The cache keeps the part that stays from turn to turn, and with it the tools, which stand
// before it.
func system(req *sessions.Request) []content {
	lasting, changing := req.System, ""
	if req.Lasting > 0 && req.Lasting < len(req.System) {
		lasting, changing = req.System[:req.Lasting], strings.TrimSpace(req.System[req.Lasting:])
	}
	var blocks []content
	if strings.TrimSpace(lasting) != "" {
		blocks = append(blocks, content{Type: "text", Text: lasting, Cache: &cache{"ephemeral"}})
	}
	if changing != "" {
		blocks = append(blocks, content{Type: "text", Text: changing})
	}
	return blocks
}

// Append implements [sessions.Form]. The API requires alternating roles, so messages of the same role are merged into
// one: it stays open for the next, and open is its role.
func (protocol) Append(list []byte, open string, m sessions.Message) ([]byte, string, error) {
	role := roleOf(m.Role)
	for _, b := range blocksOf(m) {
		block, err := json.Marshal(b)
		if err != nil {
			return nil, "", err
		}
		if open == role {
			list = append(list, ',')
		} else {
			list = append(list, closing(open)...)
			list = append(list, `,{"role":"`+role+`","content":[`...)
		}
		list, open = append(list, block...), role
	}
	return list, open, nil
}

// Close implements [sessions.Form].
func (protocol) Close(open string) string { return closing(open) }

func closing(open string) string {
	if open == "" {
		return ""
	}
	return "]}"
}

func roleOf(role sessions.Role) string {
	if role == sessions.RoleAssistant {
		return "assistant"
	}
	return "user"
}

func blocksOf(m sessions.Message) []content {
	var blocks []content
	if m.Role == sessions.RoleAgent {
		blocks = append(blocks, content{Type: "text", Text: wire.AgentHead(m)})
	}
	for _, p := range m.Parts {
		if b, ok := blockOf(m.Role, p); ok {
			blocks = append(blocks, b)
		}
	}
	return blocks
}

// blockOf converts a part to a block. A blank text gives no block, because the API rejects it. Reasoning without a
// signature is left out: the API accepts only reasoning that it has signed.
func blockOf(role sessions.Role, p sessions.Part) (content, bool) {
	switch p.Type {
	case sessions.PartText:
		if strings.TrimSpace(p.Text) == "" {
			return content{}, false
		}
		if role == sessions.RoleSummary {
			return content{Type: "text", Text: wire.SummaryHead + p.Text}, true
		}
		return content{Type: "text", Text: p.Text}, true
	case sessions.PartThinking:
		return content{Type: "thinking", Thinking: &p.Text, Signature: p.Signature}, p.Signature != ""
	case sessions.PartToolCall:
		return content{Type: "tool_use", ID: p.CallID, Name: p.Tool, Input: wire.Args(string(p.Args))}, true
	case sessions.PartToolResult:
		return content{Type: "tool_result", ToolUseID: p.CallID, Content: p.Text, IsError: p.Error}, true
	case sessions.PartAttachment:
		if wire.IsPicture(p) {
			return content{Type: "image", Source: &source{"base64", p.Attachment.MIME, p.Content}}, true
		}
		if p.Attachment != nil {
			return content{Type: "text", Text: wire.Describe(p.Attachment)}, true
		}
	}
	return content{}, false
}
