// Package completions is the model of kill tests and benchmarks: the fake
// provider of [modeltest], which answers what was said last with its echo,
// slowly, after a tool call, or at length, as its options and words in the
// message ask.
//
// Words in a message: "[tool]" asks for a tool call before the answer, "[slow]"
// for an answer that takes [Options.Slow], "[long]" for one of several platform messages,
// "[ask <session key>]" for a question to another session, "[call <tool> <arguments>]" for a call of any tool. What is said in an exchange
// depends on its step alone.
package completions

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"sluice/internal/model/modeltest"
)

// Options are the settings of the model.
type Options struct {
	// Slow is about how long an answer to a message with "[slow]" takes from its first piece to its last.
	Slow time.Duration
	// Silence is how long every answer waits before its first byte.
	Silence time.Duration
	// Tool is the name of the tool that "[tool]" asks for; it is called with no arguments.
	Tool string
}

// NewServer serves the model until the server is closed. Its
// [modeltest.Server.Violations] are the gateway's faults.
func NewServer(opts Options) (*modeltest.Server, error) {
	s, err := modeltest.NewServer(modeltest.Options{Forget: true})
	if err != nil {
		return nil, err
	}
	s.Always(opts.reply)
	return s, nil
}

// LongLines is how many numbered lines an answer to a message with "[long]" has
// after its echo: enough for several platform messages.
const LongLines = 240

// LongLine is the n-th of them, from 1.
func LongLine(n int) string {
	return fmt.Sprintf("Line %03d makes the answer longer than one platform message.", n)
}

func longTail() string {
	var b strings.Builder
	for n := range LongLines {
		b.WriteString("\n\n" + LongLine(n+1))
	}
	return b.String()
}

// slowTail is what a slow answer says besides; it comes word by word.
var slowTail = strings.Repeat(" And more.", 25)

func (o Options) reply(q modeltest.Request) modeltest.Reply {
	asked, toolAnswered := pending(q.Messages)
	all := strings.Join(asked, "\n")
	if r, ok := exchange(q.System, all, toolAnswered); ok {
		return r
	}
	if r, ok := o.call(all); ok && !toolAnswered {
		r.Latency = o.Silence
		return r
	}
	var lines []string
	for _, text := range asked {
		lines = append(lines, "echo: "+text)
	}
	r := modeltest.Say(strings.Join(lines, "\n\n"))
	r.Latency = o.Silence
	if strings.Contains(all, "[long]") {
		r.Text += longTail()
	}
	if strings.Contains(all, "[slow]") {
		r.Text += slowTail
		r.Pause = o.Slow / time.Duration(len(strings.Fields(r.Text)))
	}
	return r
}

var callWord = regexp.MustCompile(`\[call (\w+) (\{[^\]]*\})\]`)

// call is the call of a tool that a message asks for.
func (o Options) call(all string) (modeltest.Reply, bool) {
	if m := callWord.FindStringSubmatch(all); m != nil {
		return modeltest.Call(m[1], m[2]), true
	}
	return modeltest.Call(o.Tool, "{}"), strings.Contains(all, "[tool]")
}

// pending are the user's messages that no text of the assistant has followed,
// oldest first, and whether a tool has answered since that text. A call of a
// tool is no answer to what was asked.
func pending(messages []modeltest.Message) (texts []string, toolAnswered bool) {
	for _, m := range messages {
		switch {
		case m.Role == "user":
			texts = append(texts, m.Text)
		case m.Role == "tool":
			toolAnswered = true
		case m.Role == "assistant" && m.Text != "":
			texts, toolAnswered = nil, false
		}
	}
	return texts, toolAnswered
}
