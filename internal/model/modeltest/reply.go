package modeltest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Reply is what a request gets: an answer, or a failure if Status is set.
type Reply struct {
	Thinking  string
	Signature string // of the thinking; Anthropic's only
	Text      string
	Calls     []ToolCall
	Usage     Usage // zero: counted in words
	Truncated bool  // the answer hit the limit of its tokens

	Latency   time.Duration // before the headers; negative: for ever
	FirstByte time.Duration // between the headers and the first event; negative: for ever
	Pause     time.Duration // between two events
	Pings     bool          // one before each event, as the API keeps a connection alive

	Fault Fault
	After int // events that are sent before the fault, up to what is said; the end is never among them

	// A failure instead of an answer.
	Status     int
	Code       string // its name in the API's form of an error
	Message    string
	RetryAfter time.Duration     // rounded up to seconds
	Header     map[string]string // more headers of the failure
}

// ToolCall is a call that the model asks for. Its arguments are sent in pieces, and as they are, valid or not.
type ToolCall struct {
	ID   string // empty: one is made
	Name string
	Args string
}

// Usage counts tokens. Input includes Cached.
type Usage struct {
	Input, Output, Cached int
}

// Fault is how a stream goes wrong.
type Fault int

// The faults.
const (
	NoFault   Fault = iota
	Cut             // the response ends as if it were whole, without its end marker
	Break           // the connection breaks
	HalfBreak       // the connection breaks inside an event
	Stall           // nothing more comes, and the connection stays
	Malformed       // one event is not JSON; then the response ends
	Failure         // an error of an overloaded service comes as an event; then the response ends
)

// Echo repeats what the user has said since the last answer.
func Echo(q Request) Reply { return Say("echo: " + strings.Join(q.Pending(), "\n")) }

// Say answers with a text.
func Say(text string) Reply { return Reply{Text: text} }

// Call asks for one tool.
func Call(tool, args string) Reply { return Reply{Calls: []ToolCall{{Name: tool, Args: args}}} }

// Broken answers with a text whose stream goes wrong after a number of events.
func Broken(text string, fault Fault, after int) Reply {
	return Reply{Text: text, Fault: fault, After: after}
}

// Fail answers with an HTTP status and an error in the API's form.
func Fail(status int, code, message string) Reply {
	return Reply{Status: status, Code: code, Message: message}
}

// RateLimited refuses and asks to come again after a time.
func RateLimited(wait time.Duration) Reply {
	r := Fail(http.StatusTooManyRequests, "rate_limit_error", "Rate limit reached for requests")
	r.RetryAfter = wait
	return r
}

// Overloaded is what Anthropic answers with 529 and OpenAI with 503.
func Overloaded() Reply { return Fail(statusOverloaded, "overloaded_error", "Overloaded") }

// Unauthorized refuses the key.
func Unauthorized() Reply {
	return Fail(http.StatusUnauthorized, "authentication_error", "invalid api key")
}

// Overflow says that the prompt is too long, in the API's own words.
func Overflow() Reply { return Fail(http.StatusBadRequest, codeOverflow, "") }

const (
	statusOverloaded = 529
	codeOverflow     = "context_length_exceeded"
)

// retryAfter is the header's value.
func (r Reply) retryAfter() string {
	return strconv.Itoa(int((r.RetryAfter + time.Second - 1) / time.Second))
}

// usage is what the reply says or, if nothing, the words on both sides.
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

// callID is the call's id, or one made of the answer's.
func (c ToolCall) callID(answer string, index int) string {
	if c.ID != "" {
		return c.ID
	}
	return fmt.Sprintf("call_%s_%d", answer, index)
}

// pieces cuts a text behind its spaces, so that it streams word by word.
func pieces(text string) []string {
	if text == "" {
		return nil
	}
	words := strings.SplitAfter(text, " ")
	if last := len(words) - 1; words[last] == "" {
		return words[:last]
	}
	return words
}
