package router

import (
	"fmt"
	"strings"

	"sluice/policy/flow"
	"sluice/router/queue"
	"sluice/sessions"
)

// How much a session has used says something of what it has learnt: its agent could count in tokens. So the exact numbers have
// the session's label, and an owner alone is shown them, in private. Everybody else is shown their magnitude, which never falls and
// of which there are so few that a session can tell a handful of them in its whole life.

// magnitudes are the bounds between which others are told that a count is.
func magnitudes() []int { return []int{1_000, 10_000, 100_000, 1_000_000, 10_000_000} }

// magnitude is a count of tokens as anybody may be told it.
func magnitude(n int) string {
	said := "less than 1,000"
	for i, bound := range magnitudes() {
		if n >= bound {
			said = "more than " + []string{"1,000", "10,000", "100,000", "1 million", "10 million"}[i]
		}
	}
	return said
}

// usageLines are what a session has used, as the asker may be shown it: a line for each count.
func usageLines(c commandCall) string {
	used := c.session.Usage
	if c.private() {
		exact := fmt.Sprintf("- tokens in: %d", used.InputTokens)
		if used.CachedTokens > 0 {
			exact += fmt.Sprintf(" (%d of them from the provider's cache)", used.CachedTokens)
		}
		exact += fmt.Sprintf("\n- tokens out: %d\n- what I read with an answer: %d", used.OutputTokens, c.session.ContextSize)
		if text, ok := c.quotes.Show(flow.NewText(exact, c.session.Taint)); ok {
			return text
		}
	}
	return strings.Join([]string{"- tokens in: " + magnitude(used.InputTokens), "- tokens out: " + magnitude(used.OutputTokens)}, "\n")
}

// peopleWaiting is how many waiting runs are what people have said: how much other agents and sub-agents have sent is theirs to tell.
func peopleWaiting(waiting []sessions.Run) (n int) {
	for _, run := range queue.Queued(waiting) {
		if run.Kind == sessions.KindMessage {
			n++
		}
	}
	return n
}
