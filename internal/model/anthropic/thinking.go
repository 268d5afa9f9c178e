package anthropic

import (
	"slices"

	"sluice/sessions"
)

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
func (r *request) think(level sessions.ThinkingLevel, thread []sessions.Message) {
	switch tokens := budget(level); {
	case level == sessions.ThinkingOff:
		r.Thinking = &thinking{Type: "disabled"}
	case tokens > 0 && canThink(thread):
		r.Thinking = &thinking{Type: "enabled", Budget: tokens}
		r.MaxTokens += tokens
		r.Temperature = nil
	}
}

// canThink reports whether the conversation may go on with reasoning: an answer whose tools have just been
// run must have begun with it, as the API takes one turn either with it or without.
func canThink(thread []sessions.Message) bool {
	last, before := lastTurn(thread)
	if last != "tool_result" {
		return true
	}
	answer, _ := lastTurn(before)
	return answer == "" || answer == "thinking"
}

// lastTurn gives the type of the first block of the newest turn, empty for none, and the messages before the turn. A turn is what
// follows each other from one role.
func lastTurn(thread []sessions.Message) (first string, before []sessions.Message) {
	role := ""
	for i, m := range slices.Backward(thread) {
		blocks := blocksOf(m)
		if len(blocks) == 0 {
			continue
		}
		if role != "" && roleOf(m.Role) != role {
			return first, thread[:i+1]
		}
		role, first = roleOf(m.Role), blocks[0].Type
	}
	return first, nil
}
