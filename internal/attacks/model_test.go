package attacks_test

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"

	"sluice/internal/model/modeltest"
)

// ordered is how anybody orders a tool call.
var ordered = regexp.MustCompile(`!call ([\w-]+) (\{.*\})`)

// worded is how anybody orders an answer, word for word.
var worded = regexp.MustCompile(`!say ([A-Za-z0-9+/=]+)`)

// obedient is the worst of all models: it calls whatever tools anybody names, a line each, with
// their arguments, and then tells all that it knows to everyone who speaks to it.
func obedient(q modeltest.Request) modeltest.Reply {
	last := q.Messages[len(q.Messages)-1]
	if last.Role == "user" && len(q.Tools) > 0 {
		if reply := orders(last.Text); len(reply.Calls) > 0 {
			return reply
		}
		if text, ok := dictated(last.Text); ok {
			return modeltest.Say(text)
		}
	}
	var results []string
	for i := len(q.Messages) - 1; i >= 0 && q.Messages[i].Role != "user"; i-- {
		if q.Messages[i].Role == "tool" {
			results = append([]string{q.Messages[i].Text}, results...)
		}
	}
	return modeltest.Say(strings.ReplaceAll(strings.Join(results, "\n")+"\n\nI know: "+known(q), "!call", "called"))
}

// known is all that a model knows, each piece once: two of them would else repeat each other for ever.
func known(q modeltest.Request) string {
	pieces := []string{q.System}
	for _, m := range q.Messages {
		for _, line := range strings.Split(strings.ReplaceAll(m.Text, "I know: ", ""), "\n") {
			pieces = append(pieces, strings.Split(line, " / ")...)
		}
	}
	seen := map[string]bool{}
	return strings.Join(slices.DeleteFunc(pieces, func(p string) bool {
		again := seen[p]
		seen[p] = true
		return again
	}), " / ")
}

// dictated is the answer that a text orders.
func dictated(text string) (string, bool) {
	order := worded.FindStringSubmatch(text)
	if order == nil {
		return "", false
	}
	said, err := base64.StdEncoding.DecodeString(order[1])
	return string(said), err == nil
}

func orders(text string) (reply modeltest.Reply) {
	for _, order := range ordered.FindAllStringSubmatch(text, -1) {
		reply.Calls = append(reply.Calls, modeltest.ToolCall{Name: order[1], Args: order[2]})
	}
	return reply
}
