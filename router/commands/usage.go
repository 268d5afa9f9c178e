package commands

import (
	"context"
	"fmt"
	"strings"

	"sluice/internal/spending"
	"sluice/policy/flow"
	"sluice/router/queue"
	"sluice/sessions"
)

// Token usage reveals something about what a session has learnt: its agent could signal by counts. The exact numbers
// therefore have the session's label, and only an owner in private sees them. Everybody else sees a magnitude. It
// never falls, and there are so few magnitudes that a session can signal only a few times in its life.

// magnitudes are the boundaries of the ranges that others see.
func magnitudes() []int { return []int{1_000, 10_000, 100_000, 1_000_000, 10_000_000} }

// magnitude is a count of tokens as anybody may see it.
func magnitude(n int) string {
	said := "less than 1,000"
	for i, bound := range magnitudes() {
		if n >= bound {
			said = "more than " + []string{"1,000", "10,000", "100,000", "1 million", "10 million"}[i]
		}
	}
	return said
}

// usageLines is what a session has used, as far as the asker may see it: one line per count.
func usageLines(ctx context.Context, from Spending, c Call) (string, error) {
	used := c.Session.Usage
	if c.private() {
		exact := fmt.Sprintf("- tokens in: %d", used.InputTokens)
		if used.CachedTokens > 0 {
			exact += fmt.Sprintf(" (%d%% from the provider's cache)", int64(used.CachedTokens)*100/int64(max(used.InputTokens, used.CachedTokens)))
		}
		exact += fmt.Sprintf("\n- tokens out: %d\n- context: %d", used.OutputTokens, c.Session.ContextSize)
		cost, err := costLine(ctx, from, c.Session)
		if err != nil {
			return "", err
		}
		if text, ok := c.Quotes.Show(flow.NewText(exact+cost, c.Session.Taint)); ok {
			return text, nil
		}
	}
	return strings.Join([]string{"- tokens in: " + magnitude(used.InputTokens), "- tokens out: " + magnitude(used.OutputTokens)}, "\n"), nil
}

// costLine says what the calls of a session have cost whose rows are kept. Its label is the session's: each call knew less.
func costLine(ctx context.Context, from Spending, s sessions.Record) (string, error) {
	if from == nil {
		return "", nil
	}
	sums, err := from.Sums(ctx, spending.Query{Session: string(s.ID), MaxLevel: s.Taint.Level()})
	if err != nil {
		return "", fmt.Errorf("read what the session has cost: %w", err)
	}
	if cost := spending.CostOf(sums); cost != "" {
		return "\n- cost: " + cost, nil
	}
	return "", nil
}

// peopleWaiting counts the waiting messages of people. Messages of other agents and sub-agents are not counted: their
// number could reveal something about their work.
func peopleWaiting(waiting []sessions.Run) (n int) {
	for _, run := range queue.Queued(waiting) {
		if run.Kind == sessions.KindMessage {
			n++
		}
	}
	return n
}
