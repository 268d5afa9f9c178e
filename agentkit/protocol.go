package agentkit

import (
	"encoding/json"
	"fmt"
	"time"
)

// TypeTurn is the type of an [Event].
const TypeTurn = "sluice.agent.turn"

// Event is a turn on its way to a program: a CloudEvent 1.0 in JSON.
type Event struct {
	SpecVersion string    `json:"specversion"` // always "1.0"
	ID          string    `json:"id"`          // of the turn; each frame of the answer names it
	Source      string    `json:"source"`      // "/sessions/<id>"
	Type        string    `json:"type"`        // [TypeTurn]
	Subject     string    `json:"subject"`     // id of the run
	Time        time.Time `json:"time"`
	ContentType string    `json:"datacontenttype"` // always "application/json"
	Data        Turn      `json:"data"`
}

// Turn is what the gateway asks a program for: the next message of a conversation.
type Turn struct {
	ID          string    `json:"-"` // that of its event
	Run         string    `json:"run"`
	Session     string    `json:"session"`
	Agent       string    `json:"agent"`
	Label       string    `json:"label"`              // "LEVEL/trust" of the conversation
	Deadline    time.Time `json:"deadline,omitzero"`  // when the run is cancelled
	System      string    `json:"system,omitempty"`   // the agent's prompt, for programs that ask a model
	Earlier     int       `json:"earlier,omitempty"`  // older messages that are left out, because the turn would be too large
	Messages    []Message `json:"messages"`           // oldest first
	Tools       []Tool    `json:"tools,omitempty"`    // that the program may call
	Thinking    string    `json:"thinking,omitempty"` // off, low, medium or high; empty: the program decides
	Temperature *float32  `json:"temperature,omitempty"`
	MaxTokens   int       `json:"maxTokens,omitempty"`   // of the answer; 0: the program decides
	TraceParent string    `json:"traceparent,omitempty"` // W3C Trace Context, for the spans of the program; empty: the run is not traced
}

// The roles of messages.
const (
	RoleUser      = "user"      // a person
	RoleAgent     = "agent"     // another agent
	RoleAssistant = "assistant" // this agent
	RoleTool      = "tool"      // results of the calls in the message before
	RoleSummary   = "summary"   // a summary of older messages
)

// Message is a message of a conversation.
type Message struct {
	Role        string       `json:"role"`
	Sender      string       `json:"sender,omitempty"` // who wrote it, if it was a person or another agent
	Text        string       `json:"text,omitempty"`   // Markdown
	Calls       []Call       `json:"calls,omitempty"`  // of an assistant
	Results     []Result     `json:"results,omitempty"`
	Attachments []Attachment `json:"attachments,omitempty"`
}

// Call is a call of a tool.
type Call struct {
	ID        string          `json:"id"` // unique in its message
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // a JSON object
}

// Result is the result of a call.
type Result struct {
	ID    string `json:"id"` // of the call
	Name  string `json:"name"`
	Text  string `json:"text"`
	Error bool   `json:"error,omitempty"` // the call failed, or was refused
}

// Attachment is a file that came with a message. Its content is not sent.
type Attachment struct {
	Kind string `json:"kind"` // photo, document, voice, audio, video, sticker, location or contact
	Name string `json:"name,omitempty"`
	MIME string `json:"mime,omitempty"`
	Size int64  `json:"size,omitempty"` // bytes; 0 if it is not known
	Note string `json:"note,omitempty"` // where the content is, or why it is missing
}

// Tool is a tool that the program may call.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // JSON Schema of the arguments
}

// The types of frames. calls, done and error end a turn.
const (
	FrameAlive    = "alive"    // the program still works; needed only while it sends no other frame
	FrameDelta    = "delta"    // text is the next part of the answer
	FrameThinking = "thinking" // text is the next part of what the program thinks; people see it if they ask for it
	FrameCalls    = "calls"    // calls are to be run before the next turn
	FrameDone     = "done"     // text is the whole answer; empty: that of the deltas
	FrameError    = "error"    // the turn failed
)

// Frame is a part of the answer to a turn.
type Frame struct {
	Turn    string `json:"turn"` // id of the event; may be left out on standard output
	Type    string `json:"type"`
	Text    string `json:"text,omitempty"`
	Calls   []Call `json:"calls,omitempty"`
	At      string `json:"at,omitempty"` // calls, on the bus: the instance that waits for the results, see docs/programs.md
	Usage   *Usage `json:"usage,omitempty"`
	Message string `json:"message,omitempty"` // error: for the owner of the gateway
	Retry   bool   `json:"retry,omitempty"`   // error: the same turn may succeed later
}

// Usage is what a turn cost.
type Usage struct {
	Input  int `json:"input"`  // tokens
	Output int `json:"output"` // tokens
}

// Limits of the protocol.
const (
	// FrameMax is the size of a frame, in bytes, at most.
	FrameMax = 512 << 10
	// AnswerMax is the length of all texts of a turn's answer, in bytes, at most.
	AnswerMax = 1 << 20
	// CallsMax is the number of calls of a turn at most.
	CallsMax = 64
	// Silence is how long a program may be silent during a turn. Then the gateway asks another instance.
	Silence = 20 * time.Second
)

// RunsSubject is where the instances of an agent wait for turns, all in the queue group [QueueGroup].
func RunsSubject(agent string) string { return "sluice.agent." + agent + ".runs" }

// OutSubject is where the frames of a run go. It is the reply subject of its turns.
func OutSubject(agent, run string) string { return "sluice.agent." + agent + ".out." + run }

// CancelSubject is where all instances of an agent are told of turns that are no longer wanted: a [Cancel].
func CancelSubject(agent string) string { return "sluice.agent." + agent + ".cancel" }

// Cancel says that a turn is no longer wanted.
type Cancel struct {
	Run  string `json:"run"`
	Turn string `json:"turn"`
}

const (
	// QueueGroup shares the turns among the instances of an agent.
	QueueGroup = "agents"
	// ServiceName is the name under which instances register as a NATS service. The metadata "agent" is the agent's id.
	ServiceName = "sluice-agent"
)

// encode makes the text of a frame.
func (f Frame) encode() ([]byte, error) {
	text, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("encode frame: %w", err)
	}
	if len(text) > FrameMax {
		return nil, fmt.Errorf("the frame has %d bytes, the maximum is %d: send smaller parts", len(text), FrameMax)
	}
	return text, nil
}
