package wire

import "sluice/sessions"

// ThinkingBudget returns the tokens that a request asks for to reason with, on top of the limit of its answer, at a
// provider that takes a number of tokens. Such providers require at least 1024. A budget reserves the same number.
func ThinkingBudget(level sessions.ThinkingLevel) int {
	switch level {
	case sessions.ThinkingLow:
		return 2 << 10
	case sessions.ThinkingMedium:
		return 8 << 10
	case sessions.ThinkingHigh:
		return 24 << 10
	}
	return 0
}
