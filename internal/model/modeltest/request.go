package modeltest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"sync"
)

// Request is an accepted request, in a form common to both APIs.
type Request struct {
	Path        string // "/v1/chat/completions" or "/v1/messages"
	Key         string // the caller's API key
	Model       string
	System      string
	Messages    []Message // without the system prompt
	Tools       []string  // names of the tools
	MaxTokens   int       // 0: not set
	Temperature *float64  // nil: not set
	Raw         json.RawMessage
}

// Message is one turn. In both APIs, a tool's result is a turn of its own with the role "tool".
type Message struct {
	Role     string // user, assistant or tool
	Text     string // text blocks are joined with newlines
	Pictures []Picture
	Thinking string
	Calls    []ToolCall
	CallID   string // tool: the call that it answers
	Error    bool   // tool: the call failed; Anthropic only
}

// Picture is an image in a message.
type Picture struct {
	MIME    string
	Content []byte
}

// newPicture checks an image by the rules of both APIs.
func newPicture(mime string, content []byte) (Picture, error) {
	switch mime {
	case "image/png", "image/jpeg", "image/webp", "image/gif":
	default:
		return Picture{}, fmt.Errorf("images of the type %q are not taken", mime)
	}
	if len(content) == 0 || base64.StdEncoding.EncodedLen(len(content)) > 5<<20 {
		return Picture{}, fmt.Errorf("an image has %d bytes", len(content))
	}
	if seen := http.DetectContentType(content); seen != mime {
		return Picture{}, fmt.Errorf("an image is said to be %s and is %s", mime, seen)
	}
	return Picture{mime, content}, nil
}

// Pending returns the texts of the user's messages after the last message of the assistant.
func (q Request) Pending() []string {
	var texts []string
	for _, m := range q.Messages {
		switch m.Role {
		case roleAssistant:
			texts = nil
		case roleUser:
			texts = append(texts, m.Text)
		}
	}
	return texts
}

// The roles of a [Message], and the two special ones.
const (
	roleUser      = "user"
	roleAssistant = "assistant"
	roleTool      = "tool"
	roleSystem    = "system"
	roleDeveloper = "developer"
)

// decode reads JSON into a value that declares every field of the API.
func decode(h http.Header, raw []byte, into any) error {
	if kind, _, err := mime.ParseMediaType(h.Get("Content-Type")); err != nil || kind != "application/json" {
		return fmt.Errorf("the content type is %q, want application/json", h.Get("Content-Type"))
	}
	if err := strict(raw, into); err != nil {
		return fmt.Errorf("the body can't be read: %w", err)
	}
	return nil
}

// strict reads one JSON value and rejects unknown fields.
func strict(raw []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows it")
	}
	return nil
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// checkTools checks the declared tools: their names, and that their schemas describe objects.
func checkTools(names []string, schemas []json.RawMessage) error {
	seen := map[string]bool{}
	for i, name := range names {
		if !toolName.MatchString(name) {
			return fmt.Errorf("tools.%d: %q is not a valid name of a tool", i, name)
		}
		if seen[name] {
			return fmt.Errorf("tools.%d: the name %q is there twice", i, name)
		}
		seen[name] = true
		if !objects.have(schemas[i]) {
			return fmt.Errorf("tools.%d: the schema of %s is not of type object", i, name)
		}
	}
	return nil
}

// objects are the schemas that were found to describe objects. Each request declares the same tools again.
var objects = schemaSet{known: map[string]bool{}} //nolint:gochecknoglobals // one cache for all servers of a test program: to check a schema is the dearest part of a request

type schemaSet struct {
	mu    sync.Mutex
	known map[string]bool
}

// have reports whether a schema describes an object.
func (s *schemaSet) have(raw json.RawMessage) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[string(raw)] {
		return true
	}
	var schema struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(raw, &schema) != nil || schema.Type != "object" {
		return false
	}
	s.known[string(raw)] = true
	return true
}

// isObject reports whether raw is one JSON object.
func isObject(raw []byte) bool {
	var o map[string]json.RawMessage
	return json.Unmarshal(raw, &o) == nil && o != nil
}

// calls are the tool calls in the assistant's last message that have no result yet.
type calls struct {
	open map[string]bool
}

// begin records the calls of a message of the assistant.
func (c *calls) begin(made []ToolCall) error {
	c.open = map[string]bool{}
	for _, m := range made {
		switch {
		case m.ID == "":
			return fmt.Errorf("a call of %s has no id", m.Name)
		case !toolName.MatchString(m.Name):
			return fmt.Errorf("the call %s has %q for a tool's name", m.ID, m.Name)
		case c.open[m.ID]:
			return fmt.Errorf("the call %s is there twice", m.ID)
		case !isObject([]byte(m.Args)):
			return fmt.Errorf("the arguments of the call %s are no JSON object", m.ID)
		}
		c.open[m.ID] = true
	}
	return nil
}

// end records the result of one call.
func (c *calls) end(id string) error {
	if !c.open[id] {
		return fmt.Errorf("the result of %q has no call in the message before it", id)
	}
	delete(c.open, id)
	return nil
}

// done returns an error if calls have no result.
func (c *calls) done() error {
	for id := range c.open {
		return fmt.Errorf("the call %s has no result", id)
	}
	return nil
}
