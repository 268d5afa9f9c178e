// Package protocol has the messages between a node and the gateway: one JSON object in each WebSocket text message
// (docs/nodes.md).
//
// Both sides keep what the other one has not acknowledged, and send it again on the next connection. Each item has an id
// under which the receiver knows a repetition.
package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// Version is the version of the protocol.
	Version = 1
	// Path is where a node connects.
	Path = "/v1/nodes/connect"
	// PairPath is where a program asks to become a node.
	PairPath = "/v1/nodes/pair"
	// FrameMax is the maximum size of a frame in bytes.
	FrameMax = 1 << 20
	// TextMax is the maximum size of the text of a message, or of the data of an event, in bytes.
	TextMax = 64 << 10
	// IDMax is the maximum length of an id in bytes.
	IDMax = 128
	// NameMax is the maximum length of the name of an event in bytes.
	NameMax = 64
	// PingEvery is the time between two pings.
	PingEvery = 20 * time.Second
	// PongWithin is how long the answer to a ping may take.
	PongWithin = 10 * time.Second
)

// Kind is what a frame is.
type Kind string

// The kinds of frames.
const (
	Hello   Kind = "hello"   // node: the first frame
	Welcome Kind = "welcome" // gateway: the answer to hello
	Message Kind = "message" // node: a person at the node says something
	Event   Kind = "event"   // node: something happened
	Ack     Kind = "ack"     // gateway: a message or event is stored
	Refused Kind = "refused" // gateway: a message or event will never be accepted
	Deliver Kind = "deliver" // gateway: a message for the node
	Done    Kind = "done"    // node: a delivered message is stored
	MCP     Kind = "mcp"     // both: a message of the MCP protocol
)

// Frame is one frame. Each kind uses the fields that its comment in docs/nodes.md names.
type Frame struct {
	Kind     Kind            `json:"kind"`
	Version  int             `json:"version,omitempty"`  // hello, welcome
	Platform string          `json:"platform,omitempty"` // hello
	Tools    bool            `json:"tools,omitempty"`    // hello: the node offers tools
	Node     string          `json:"node,omitempty"`     // welcome: its id
	Level    string          `json:"level,omitempty"`    // welcome: the highest level of what is sent to the node
	ID       string          `json:"id,omitempty"`       // message, event, ack, refused, deliver, done
	Name     string          `json:"name,omitempty"`     // event
	Text     string          `json:"text,omitempty"`     // message, deliver, refused
	Data     json.RawMessage `json:"data,omitempty"`     // event
	At       time.Time       `json:"at,omitzero"`        // message, event, deliver
	Silent   bool            `json:"silent,omitempty"`   // deliver: without a sound
	Body     json.RawMessage `json:"body,omitempty"`     // mcp
}

// Encode returns the frame's text. A frame that is too large is an error.
func Encode(f Frame) ([]byte, error) {
	text, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("encode frame %s: %w", f.Kind, err)
	}
	if len(text) > FrameMax {
		return nil, fmt.Errorf("the frame %s has %d bytes; the maximum is %d", f.Kind, len(text), FrameMax)
	}
	return text, nil
}

// Decode reads a frame.
func Decode(text []byte) (Frame, error) {
	var f Frame
	if len(text) > FrameMax {
		return f, fmt.Errorf("the frame has %d bytes; the maximum is %d", len(text), FrameMax)
	}
	if !utf8.Valid(text) {
		return f, errors.New("the frame is not valid UTF-8")
	}
	if err := json.Unmarshal(text, &f); err != nil {
		return f, fmt.Errorf("the frame is not a JSON object of this protocol: %w", err)
	}
	return f, nil
}

// ValidID reports whether an id of a message or event can be stored and acknowledged.
func ValidID(id string) bool {
	return id != "" && len(id) <= IDMax && strings.IndexFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.' && r != ':'
	}) < 0
}

// Check says what is wrong with a message or event of a node; nil if it can be accepted.
func (f Frame) Check() error {
	switch {
	case !ValidID(f.ID):
		return fmt.Errorf("the id must have 1 to %d characters of a-z A-Z 0-9 . : _ -", IDMax)
	case f.Kind == Message && strings.TrimSpace(f.Text) == "":
		return errors.New("the message has no text")
	case len(f.Text) > TextMax:
		return fmt.Errorf("the text has %d bytes; the maximum is %d", len(f.Text), TextMax)
	case f.Kind == Event && (f.Name == "" || len(f.Name) > NameMax || strings.ContainsFunc(f.Name, func(r rune) bool { return r < ' ' || r == 0x7f })):
		return fmt.Errorf("the event needs a name of 1 to %d bytes in one line", NameMax)
	case len(f.Data) > TextMax:
		return fmt.Errorf("the data has %d bytes; the maximum is %d", len(f.Data), TextMax)
	}
	return nil
}
