package modeltest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// chatAPI is OpenAI's Chat Completions API.
type chatAPI struct{}

var _ api = chatAPI{}

type chatRequest struct {
	Model         string        `json:"model"`
	Messages      []chatMessage `json:"messages"`
	Tools         []chatTool    `json:"tools"`
	Stream        bool          `json:"stream"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	MaxCompletionTokens *int     `json:"max_completion_tokens"`
	MaxTokens           *int     `json:"max_tokens"` // its older name
	Temperature         *float64 `json:"temperature"`
	ReasoningEffort     string   `json:"reasoning_effort"`
}

type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCalls  []chatCall      `json:"tool_calls"`
	ToolCallID string          `json:"tool_call_id"`
}

type chatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type chatTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

func (chatAPI) key(h http.Header) string {
	key, _ := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	return key
}

func (chatAPI) read(h http.Header, raw []byte) (Request, error) {
	var in chatRequest
	if err := decode(h, raw, &in); err != nil {
		return Request{}, err
	}
	if err := in.check(); err != nil {
		return Request{}, err
	}
	q := Request{Path: "/v1/chat/completions", Model: in.Model, Temperature: in.Temperature, Raw: raw}
	for _, bound := range []*int{in.MaxTokens, in.MaxCompletionTokens} {
		if bound != nil {
			q.MaxTokens = *bound
		}
	}
	for _, t := range in.Tools {
		q.Tools = append(q.Tools, t.Function.Name)
	}
	var made calls
	for i, m := range in.Messages {
		out, err := m.read(i, &made)
		if err != nil {
			return Request{}, fmt.Errorf("messages.%d: %w", i, err)
		}
		if out.Role == roleSystem {
			q.System = out.Text
			continue
		}
		q.Messages = append(q.Messages, out)
	}
	return q, made.done()
}

// check checks everything except the messages.
func (in *chatRequest) check() error {
	switch {
	case in.Model == "":
		return errors.New("model: it is missing")
	case !in.Stream:
		return errors.New("stream: this fake only streams")
	case len(in.Messages) == 0:
		return errors.New("messages: there are none")
	case in.Temperature != nil && (*in.Temperature < 0 || *in.Temperature > 2):
		return errors.New("temperature: it is not between 0 and 2")
	case in.MaxTokens != nil && in.MaxCompletionTokens != nil:
		return errors.New("max_tokens and max_completion_tokens can't stand together")
	}
	for _, bound := range []*int{in.MaxTokens, in.MaxCompletionTokens} {
		if bound != nil && *bound < 1 {
			return errors.New("max_completion_tokens: it is below 1")
		}
	}
	var names []string
	var schemas []json.RawMessage
	for i, t := range in.Tools {
		if t.Type != "function" {
			return fmt.Errorf("tools.%d: the type is %q", i, t.Type)
		}
		names, schemas = append(names, t.Function.Name), append(schemas, t.Function.Parameters)
	}
	return checkTools(names, schemas)
}

// read checks the i-th message, given the tool calls so far.
func (m chatMessage) read(i int, made *calls) (Message, error) {
	text, pictures, said, err := m.content()
	if err != nil {
		return Message{}, err
	}
	if len(pictures) > 0 && m.Role != roleUser {
		return Message{}, fmt.Errorf("a message of the role %q can't show images", m.Role)
	}
	out := Message{Role: m.Role, Text: text, Pictures: pictures}
	if m.Role != roleTool {
		if err := made.done(); err != nil {
			return out, err
		}
	}
	switch {
	case m.Role != roleAssistant && m.ToolCalls != nil:
		return out, fmt.Errorf("a message of the role %q can't call tools", m.Role)
	case m.Role != roleTool && m.ToolCallID != "":
		return out, fmt.Errorf("a message of the role %q has no tool_call_id", m.Role)
	case !said && (m.Role != roleAssistant || m.ToolCalls == nil):
		return out, errors.New("the content is missing")
	}
	switch m.Role {
	case roleSystem, roleDeveloper:
		out.Role = roleSystem
		if i != 0 {
			return out, errors.New("the system's message is not the first")
		}
		return out, nil
	case roleUser:
		return out, nil
	case roleTool:
		out.CallID = m.ToolCallID
		return out, made.end(m.ToolCallID)
	case roleAssistant:
		out.Calls, err = m.calls()
		if err != nil {
			return out, err
		}
		return out, made.begin(out.Calls)
	}
	return out, fmt.Errorf("there is no role %q", m.Role)
}

func (m chatMessage) calls() ([]ToolCall, error) {
	if m.ToolCalls != nil && len(m.ToolCalls) == 0 {
		return nil, errors.New("the list of tool calls is empty")
	}
	var out []ToolCall
	for _, c := range m.ToolCalls {
		if c.Type != "function" {
			return nil, fmt.Errorf("the call %q is of the type %q", c.ID, c.Type)
		}
		out = append(out, ToolCall{ID: c.ID, Name: c.Function.Name, Args: c.Function.Arguments})
	}
	return out, nil
}

// chatPart is an element of a content list.
type chatPart struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	ImageURL struct {
		URL string `json:"url"`
	} `json:"image_url"`
}

// content reads a content, which is a string or a list of texts and images; said is false for null or a missing
// content.
func (m chatMessage) content() (text string, pictures []Picture, said bool, err error) {
	if len(m.Content) == 0 || string(m.Content) == "null" {
		return "", nil, false, nil
	}
	if json.Unmarshal(m.Content, &text) == nil {
		return text, nil, true, nil
	}
	var parts []chatPart
	if err := strict(m.Content, &parts); err != nil {
		return "", nil, false, errors.New("the content is neither a text nor a list")
	}
	var texts []string
	for _, p := range parts {
		switch p.Type {
		case "text":
			texts = append(texts, p.Text)
		case "image_url":
			picture, err := dataURL(p.ImageURL.URL)
			if err != nil {
				return "", nil, false, err
			}
			pictures = append(pictures, picture)
		default:
			return "", nil, false, fmt.Errorf("a part of the type %q is not understood here", p.Type)
		}
	}
	return strings.Join(texts, "\n"), pictures, true, nil
}

// dataURL reads "data:<type>;base64,<content>".
func dataURL(url string) (Picture, error) {
	rest, ok := strings.CutPrefix(url, "data:")
	mime, data, found := strings.Cut(rest, ";base64,")
	content, err := base64.StdEncoding.DecodeString(data)
	if !ok || !found || err != nil {
		return Picture{}, errors.New("an image's address is no data URL in base64")
	}
	return newPicture(mime, content)
}
