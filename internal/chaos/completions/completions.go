// Package completions is the language model of the kill tests and benchmarks. It uses the fake provider of [modeltest] and echoes
// the last message: at once, slowly, after a tool call, or at length, depending on its options and on words in the
// message.
//
// Words in a message: "[tool]" asks for a tool call before the answer, "[slow]" for an answer that takes
// [Options.Slow], "[long]" for an answer that needs several platform messages, "[ask <session key>]" for a question
// to another session, "[call <tool> <arguments>]" for a call of any tool. In an exchange, the text depends only on
// the step.
package completions

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"sluice/internal/model/modeltest"
)

// Options configure the model.
type Options struct {
	// Slow is roughly how long an answer to "[slow]" takes from its first chunk to its last.
	Slow time.Duration
	// Silence is the delay before the first byte of every answer.
	Silence time.Duration
	// Tool is the tool that "[tool]" calls, without arguments.
	Tool string
}

// NewServer serves the model until the server is closed. Its [modeltest.Server.Violations] are the gateway's protocol
// errors.
func NewServer(opts Options) (*modeltest.Server, error) {
	s, err := modeltest.NewServer(modeltest.Options{Forget: true})
	if err != nil {
		return nil, err
	}
	s.Always(opts.reply)
	return s, nil
}

// LongLines is how many numbered lines follow the echo in an answer to "[long]": enough for several platform
// messages.
const LongLines = 240

// LongLine returns the n-th of these lines, counted from 1.
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

// slowTail is the end of a slow answer, which is streamed word by word.
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

// call returns the tool call that a message asks for.
func (o Options) call(all string) (modeltest.Reply, bool) {
	if m := callWord.FindStringSubmatch(all); m != nil {
		return modeltest.Call(m[1], m[2]), true
	}
	return modeltest.Call(o.Tool, "{}"), strings.Contains(all, "[tool]")
}

// pending returns the user's messages after the last text of the assistant, oldest first, and whether a tool has
// answered since. A tool call does not answer a message.
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
