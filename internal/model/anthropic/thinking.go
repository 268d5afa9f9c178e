package anthropic

import "sluice/sessions"

// thinking asks for reasoning before the answer.
type thinking struct {
	Type   string `json:"type"` // enabled or disabled
	Budget int    `json:"budget_tokens,omitempty"`
}

// budget is the tokens of reasoning. The API takes at least 1024.
func budget(level sessions.ThinkingLevel) int {
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

// think sets how much the model reasons. The reasoning counts among the answer's tokens, so there are
// as many more of them, and the API takes no temperature with it.
func (r *request) think(level sessions.ThinkingLevel) {
	switch tokens := budget(level); {
	case level == sessions.ThinkingOff:
		r.Thinking = &thinking{Type: "disabled"}
	case tokens > 0 && r.canThink():
		r.Thinking = &thinking{Type: "enabled", Budget: tokens}
		r.MaxTokens += tokens
		r.Temperature = nil
	}
}

// canThink reports whether the conversation may go on with reasoning: an answer whose tools have just been
// run must have begun with it, as the API takes one turn either with it or without.
func (r *request) canThink() bool {
	n := len(r.Messages)
	if n < 2 || r.Messages[n-1].Content[0].Type != "tool_result" {
		return true
	}
	return r.Messages[n-2].Content[0].Type == "thinking"
}
