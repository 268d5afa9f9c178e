package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// messagesAPI is Anthropic's Messages API.
type messagesAPI struct{}

var _ api = messagesAPI{}

type messagesRequest struct {
	Model       string          `json:"model"`
	System      json.RawMessage `json:"system"`
	Messages    []turn          `json:"messages"`
	Tools       []messagesTool  `json:"tools"`
	MaxTokens   int             `json:"max_tokens"`
	Temperature *float64        `json:"temperature"`
	Thinking    *struct {
		Type   string `json:"type"`
		Budget int    `json:"budget_tokens"`
	} `json:"thinking"`
	Stream bool          `json:"stream"`
	Cache  *cacheControl `json:"cache_control"`
}

// cacheControl marks the end of what is cached.
type cacheControl struct {
	Type string `json:"type"`
}

type messagesTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// turn is one message. Its content is a text or a list of blocks.
type turn struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// block is one part of a message; which fields it may have depends on its type.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  *string         `json:"thinking"`
	Signature string          `json:"signature"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
	Source    *struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      []byte `json:"data"`
	} `json:"source"`
	Cache *cacheControl `json:"cache_control"`
}

func (messagesAPI) key(h http.Header) string { return h.Get("X-Api-Key") }

func (messagesAPI) read(h http.Header, raw []byte) (Request, error) {
	if h.Get("Anthropic-Version") == "" {
		return Request{}, errors.New("anthropic-version: the header is missing")
	}
	var in messagesRequest
	if err := decode(h, raw, &in); err != nil {
		return Request{}, err
	}
	if err := in.check(); err != nil {
		return Request{}, err
	}
	q := Request{Path: "/v1/messages", Model: in.Model, MaxTokens: in.MaxTokens, Temperature: in.Temperature, Raw: raw}
	var err error
	if q.System, err = blockText(in.System); err != nil {
		return Request{}, fmt.Errorf("system: %w", err)
	}
	for _, t := range in.Tools {
		q.Tools = append(q.Tools, t.Name)
	}
	var made calls
	for i, t := range in.Messages {
		if i > 0 && in.Messages[i-1].Role == t.Role {
			return Request{}, fmt.Errorf("messages.%d: the role %q follows itself", i, t.Role)
		}
		out, err := t.read(&made)
		if err != nil {
			return Request{}, fmt.Errorf("messages.%d: %w", i, err)
		}
		q.Messages = append(q.Messages, out...)
	}
	return q, made.done()
}

// check checks everything except the contents of messages.
func (in *messagesRequest) check() error {
	switch {
	case in.Model == "":
		return errors.New("model: it is missing")
	case in.MaxTokens < 1:
		return errors.New("max_tokens: it is missing or below 1")
	case !in.Stream:
		return errors.New("stream: this fake only streams")
	case len(in.Messages) == 0:
		return errors.New("messages: there are none")
	case in.Messages[0].Role != roleUser:
		return errors.New("messages.0: the first message is not the user's")
	case in.Temperature != nil && (*in.Temperature < 0 || *in.Temperature > 1):
		return errors.New("temperature: it is not between 0 and 1")
	}
	var names []string
	var schemas []json.RawMessage
	for _, t := range in.Tools {
		names, schemas = append(names, t.Name), append(schemas, t.InputSchema)
	}
	return checkTools(names, schemas)
}

// read checks a turn, given the tool calls so far, and separates its tool results from its text.
func (t turn) read(made *calls) ([]Message, error) {
	blocks, err := t.blocks()
	if err != nil {
		return nil, err
	}
	said := Message{Role: t.Role}
	var results []Message
	for i, b := range blocks {
		if b.Type == "tool_result" && t.Role == roleUser {
			if i > len(results) {
				return nil, errors.New("a tool_result stands behind something else")
			}
			text, err := blockText(b.Content)
			if err != nil {
				return nil, err
			}
			if err := made.end(b.ToolUseID); err != nil {
				return nil, err
			}
			results = append(results, Message{Role: roleTool, Text: text, CallID: b.ToolUseID, Error: b.IsError})
			continue
		}
		if err := said.add(b); err != nil {
			return nil, err
		}
	}
	switch t.Role {
	case roleUser:
		if len(blocks) > len(results) {
			results = append(results, said)
		}
		return results, made.done()
	case roleAssistant:
		return []Message{said}, made.begin(said.Calls)
	}
	return nil, fmt.Errorf("there is no role %q", t.Role)
}

func (t turn) blocks() ([]block, error) {
	var plain string
	if json.Unmarshal(t.Content, &plain) == nil {
		return []block{{Type: "text", Text: plain}}, nil
	}
	var blocks []block
	if err := strict(t.Content, &blocks); err != nil {
		return nil, fmt.Errorf("the content is neither a text nor a list of blocks: %w", err)
	}
	if len(blocks) == 0 {
		return nil, errors.New("the content is empty")
	}
	return blocks, nil
}

// add adds a block that is not a tool's result.
func (m *Message) add(b block) error {
	switch {
	case b.Type == "text":
		if strings.TrimSpace(b.Text) == "" {
			return errors.New("text content blocks must contain non-whitespace text")
		}
		m.Text += separator(m.Text) + b.Text
		return nil
	case m.Role == roleUser && b.Type == "image":
		if b.Source == nil || b.Source.Type != "base64" {
			return errors.New("an image has no source in base64")
		}
		picture, err := newPicture(b.Source.MediaType, b.Source.Data)
		m.Pictures = append(m.Pictures, picture)
		return err
	case m.Role == roleAssistant && b.Type == "thinking":
		if b.Signature == "" || b.Thinking == nil {
			return errors.New("a thinking block has no signature or no thinking")
		}
		m.Thinking += *b.Thinking
		return nil
	case m.Role == roleAssistant && b.Type == "tool_use":
		m.Calls = append(m.Calls, ToolCall{ID: b.ID, Name: b.Name, Args: string(b.Input)})
		return nil
	}
	return fmt.Errorf("a message of the role %q can't have a block of the type %q", m.Role, b.Type)
}

func separator(before string) string {
	if before == "" {
		return ""
	}
	return "\n"
}

// blockText reads a text that may be a list of text blocks, or nothing.
func blockText(raw json.RawMessage) (string, error) {
	if len(raw) == 0 {
		return "", nil
	}
	var plain string
	if json.Unmarshal(raw, &plain) == nil {
		return plain, nil
	}
	var blocks []block
	if err := strict(raw, &blocks); err != nil {
		return "", fmt.Errorf("neither a text nor a list of blocks: %w", err)
	}
	var m Message
	for _, b := range blocks {
		if err := m.add(b); err != nil {
			return "", err
		}
	}
	return m.Text, nil
}
