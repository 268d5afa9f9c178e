package commands

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

// usageLines is what a session has used, as far as the asker may see it: a line for each count.
func usageLines(c Call) string {
	used := c.Session.Usage
	if c.private() {
		exact := fmt.Sprintf("- tokens in: %d", used.InputTokens)
		if used.CachedTokens > 0 {
			exact += fmt.Sprintf(" (%d from the provider's cache)", used.CachedTokens)
		}
		exact += fmt.Sprintf("\n- tokens out: %d\n- context: %d", used.OutputTokens, c.Session.ContextSize)
		if text, ok := c.Quotes.Show(flow.NewText(exact, c.Session.Taint)); ok {
			return text
		}
	}
	return strings.Join([]string{"- tokens in: " + magnitude(used.InputTokens), "- tokens out: " + magnitude(used.OutputTokens)}, "\n")
}

// peopleWaiting counts the waiting messages of people. Those of other agents and of sub-agents are not counted: their number
// could tell something about their work.
func peopleWaiting(waiting []sessions.Run) (n int) {
	for _, run := range queue.Queued(waiting) {
		if run.Kind == sessions.KindMessage {
			n++
		}
	}
	return n
}
