package modeltest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Reply is the answer to a request, or a failure if Status is set.
type Reply struct {
	Thinking  string
	Signature string // signature of the thinking; Anthropic only
	Text      string
	Calls     []ToolCall
	Usage     Usage // zero: the number of words
	Truncated bool  // the answer has reached its token limit

	Latency   time.Duration // before the headers; negative: forever
	FirstByte time.Duration // between the headers and the first event; negative: forever
	Pause     time.Duration // between two events
	Pings     bool          // a ping before each event, which keeps the connection alive

	Fault Fault
	After int // the number of events before the fault; the end is never among them

	// A failure instead of an answer.
	Status     int
	Code       string // its name in the API's error format
	Message    string
	RetryAfter time.Duration     // rounded up to seconds
	Header     map[string]string // additional headers of the failure
}

// ToolCall is a tool call of the model. Its arguments are sent in chunks and unchanged, valid or not.
type ToolCall struct {
	ID   string // empty: generated
	Name string
	Args string
}

// Usage counts tokens. Input includes Cached.
type Usage struct {
	Input, Output, Cached int
}

// Fault is an error in a stream.
type Fault int

// The faults.
const (
	NoFault   Fault = iota
	Cut             // the response ends normally, but without its end marker
	Break           // the connection breaks
	HalfBreak       // the connection breaks inside an event
	Stall           // nothing more is sent, and the connection stays open
	Malformed       // one event is not JSON; then the response ends
	Failure         // an event reports an overloaded service; then the response ends
)

// Echo repeats what the user has said since the last answer.
func Echo(q Request) Reply { return Say("echo: " + strings.Join(q.Pending(), "\n")) }

// Say answers with a text.
func Say(text string) Reply { return Reply{Text: text} }

// Call calls one tool.
func Call(tool, args string) Reply { return Reply{Calls: []ToolCall{{Name: tool, Args: args}}} }

// Broken answers with a text whose stream fails after a number of events.
func Broken(text string, fault Fault, after int) Reply {
	return Reply{Text: text, Fault: fault, After: after}
}

// Fail answers with an HTTP status and an error in the API's format.
func Fail(status int, code, message string) Reply {
	return Reply{Status: status, Code: code, Message: message}
}

// RateLimited asks the client to retry after a time.
func RateLimited(wait time.Duration) Reply {
	r := Fail(http.StatusTooManyRequests, "rate_limit_error", "Rate limit reached for requests")
	r.RetryAfter = wait
	return r
}

// Overloaded is the overload error: 529 from Anthropic and 503 from OpenAI.
func Overloaded() Reply { return Fail(statusOverloaded, "overloaded_error", "Overloaded") }

// Unauthorized rejects the key.
func Unauthorized() Reply {
	return Fail(http.StatusUnauthorized, "authentication_error", "invalid api key")
}

// Overflow reports that the prompt is too long, in the API's own words.
func Overflow() Reply { return Fail(http.StatusBadRequest, codeOverflow, "") }

const (
	statusOverloaded = 529
	codeOverflow     = "context_length_exceeded"
)

// retryAfter returns the value of the header.
func (r Reply) retryAfter() string {
	return strconv.Itoa(int((r.RetryAfter + time.Second - 1) / time.Second))
}

// usage returns the reply's usage or, without one, the number of words on both sides.
func (r Reply) usage(q Request) Usage {
	if r.Usage != (Usage{}) {
		return r.Usage
	}
	u := Usage{Input: len(strings.Fields(q.System)), Output: len(strings.Fields(r.Text)) + len(r.Calls)}
	for _, m := range q.Messages {
		u.Input += len(strings.Fields(m.Text))
	}
	return u
}

// callID returns the call's id, or one derived from the answer's id.
func (c ToolCall) callID(answer string, index int) string {
	if c.ID != "" {
		return c.ID
	}
	return fmt.Sprintf("call_%s_%d", answer, index)
}

// chunks cuts a text after its spaces, so that it is streamed word by word.
func chunks(text string) []string {
	if text == "" {
		return nil
	}
	words := strings.SplitAfter(text, " ")
	if last := len(words) - 1; words[last] == "" {
		return words[:last]
	}
	return words
}
