// Package message has what is said in a session: messages and their parts, attachments, quotations of other people, live events,
// and the words with which an agent stays silent.
package message

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/policy/flow"

	"sluice/sessions/address"
)

// Role says who wrote a message.
type Role string

// The roles. An Agent message comes from another agent and not from a person. A ToolResult
// message has the results of the tool calls in the message before it. A Summary replaces the
// messages before it after compaction.
const (
	RoleUser       Role = "user"
	RoleAgent      Role = "agent"
	RoleAssistant  Role = "assistant"
	RoleToolResult Role = "toolResult"
	RoleSummary    Role = "summary"
)

// PartType is the kind of one part of a message.
type PartType string

// The part types.
const (
	PartText       PartType = "text"
	PartThinking   PartType = "thinking"
	PartToolCall   PartType = "toolCall"
	PartToolResult PartType = "toolResult"
	PartAttachment PartType = "attachment"
)

// Part is one element of a message. Which fields count depends on Type.
type Part struct {
	Type PartType `json:"type"`

	Text      string `json:"text,omitempty"`      // text, thinking, tool result
	Signature string `json:"signature,omitempty"` // thinking: what the provider wants back unchanged

	CallID string          `json:"callId,omitempty"` // tool call and its result
	Tool   string          `json:"tool,omitempty"`   // tool call and its result: the tool's name
	Args   json.RawMessage `json:"args,omitempty"`   // tool call: a JSON object
	Error  bool            `json:"error,omitempty"`  // tool result: the call failed

	Attachment *Attachment `json:"attachment,omitempty"`
	// Content is the attachment's, in a request to a model alone: it is never stored with the message.
	Content []byte `json:"-"`

	// Label is the part's own label; a part never flows further than it allows.
	Label flow.Label `json:"label"`
}

// Attachment is a file that came with a message. Ref is the platform's own handle;
// Media is the content, once it was fetched from there.
type Attachment struct {
	Kind     string `json:"kind"` // photo, document, voice, audio, video, sticker, location, contact
	Name     string `json:"name,omitempty"`
	MIME     string `json:"mime,omitempty"`
	Size     int64  `json:"size,omitempty"` // bytes; 0 if the platform does not say
	Ref      string `json:"ref,omitempty"`
	Duration int    `json:"duration,omitempty"` // seconds, for voice and video
	// Media is the stored content; empty if it was not fetched. It is kept as long as retention.media says.
	Media address.MediaID `json:"media,omitempty"`
	// Path is where the file is in the session's workspace; empty if it was not saved there.
	Path string `json:"path,omitempty"`
	// Note says to the model where the content is, or why it is not there.
	Note string `json:"note,omitempty"`
}

// Message is one node of a conversation tree.
type Message struct {
	ID       address.MessageID
	Parent   address.MessageID // empty for the root
	Run      address.RunID     // the run that wrote it
	Role     Role
	Parts    []Part
	Label    flow.Label // join of the parts' labels
	Model    string     // assistant: "<provider>/<model>" that wrote it
	Usage    Usage      // assistant: what it cost
	Created  time.Time
	Sender   address.Peer // user messages: who wrote it
	Revision int          // grows with each stored edit
}

// Text joins the message's text parts with blank lines.
func (m Message) Text() string {
	var texts []string
	for _, p := range m.Parts {
		if p.Type == PartText && p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// ToolCalls are the message's tool calls in order.
func (m Message) ToolCalls() []Part {
	var calls []Part
	for _, p := range m.Parts {
		if p.Type == PartToolCall {
			calls = append(calls, p)
		}
	}
	return calls
}

// Same reports whether two versions of a message say the same.
func Same(a, b Message) bool {
	x, errX := json.Marshal(a.Parts)
	y, errY := json.Marshal(b.Parts)
	return a.Revision == b.Revision && errX == nil && errY == nil && bytes.Equal(x, y)
}

// Usage counts the tokens of one completion; 0 where the provider does not say.
type Usage struct {
	InputTokens  int `json:"inputTokens,omitempty"`
	OutputTokens int `json:"outputTokens,omitempty"`
	CachedTokens int `json:"cachedTokens,omitempty"` // part of InputTokens read from a cache

	WrittenTokens  int `json:"writtenTokens,omitempty"`  // part of InputTokens written to a cache
	ThinkingTokens int `json:"thinkingTokens,omitempty"` // part of OutputTokens spent on reasoning
}

// Add sums two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		u.InputTokens + v.InputTokens, u.OutputTokens + v.OutputTokens, u.CachedTokens + v.CachedTokens,
		u.WrittenTokens + v.WrittenTokens, u.ThinkingTokens + v.ThinkingTokens,
	}
}

// TextPart is a text with its label.
func TextPart(text string, label flow.Label) Part {
	return Part{Type: PartText, Text: text, Label: label}
}

// NameCalls gives an id of its own to each call without an id, or with the id of another call in
// the same answer: some models do so, and a result must belong to one call.
func NameCalls(parts []Part) {
	seen := map[string]bool{}
	for i := range parts {
		if parts[i].Type != PartToolCall {
			continue
		}
		id := parts[i].CallID
		for n := 2; id == "" || seen[id]; n++ {
			id = fmt.Sprintf("%s_%d", parts[i].CallID, n)
		}
		seen[id] = true
		parts[i].CallID = id
	}
}

// Arguments are the arguments of a tool call; missing ones become an empty object.
func (p Part) Arguments() (json.RawMessage, error) {
	args := slices.Clone(p.Args)
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if err := json.Unmarshal(args, &map[string]json.RawMessage{}); err != nil {
		return nil, fmt.Errorf("the arguments are not a JSON object: %w", err)
	}
	return args, nil
}

// OpenCalls returns the tool calls of the last answer of a thread that have no result yet, in order; nil if all have one.
func OpenCalls(thread []Message) []Part {
	if len(thread) == 0 {
		return nil
	}
	last := thread[len(thread)-1]
	if last.Role == RoleAssistant {
		return last.ToolCalls()
	}
	if last.Role != RoleToolResult || len(thread) < 2 {
		return nil
	}
	var open []Part
	for _, call := range thread[len(thread)-2].ToolCalls() {
		if !slices.ContainsFunc(last.Parts, func(p Part) bool { return p.CallID == call.CallID }) {
			open = append(open, call)
		}
	}
	return open
}
