package anthropic

import (
	"slices"

	"sluice/internal/model/wire"
	"sluice/sessions"
)

// thinking asks for reasoning before the answer.
type thinking struct {
	Type   string `json:"type"` // enabled or disabled
	Budget int    `json:"budget_tokens,omitempty"`
}

// think sets how much the model reasons. Reasoning counts as part of the answer, so the limit is raised by its
// budget. The API accepts no temperature together with reasoning.
func (r *request) think(level sessions.ThinkingLevel, thread []sessions.Message) {
	switch tokens := wire.ThinkingBudget(level); {
	case level == sessions.ThinkingOff:
		r.Thinking = &thinking{Type: "disabled"}
	case tokens > 0 && canThink(thread):
		r.Thinking = &thinking{Type: "enabled", Budget: tokens}
		r.MaxTokens += tokens
		r.Temperature = nil
	}
}

// canThink reports whether the conversation may continue with reasoning. An answer whose tools have just run must
// have begun with reasoning: the API accepts a turn either completely with it or completely without.
func canThink(thread []sessions.Message) bool {
	last, before := lastTurn(thread)
	if last != "tool_result" {
		return true
	}
	answer, _ := lastTurn(before)
	return answer == "" || answer == "thinking"
}

// lastTurn returns the type of the first block in the newest turn (empty without a turn), and the messages before the
// turn. A turn is a sequence of messages of one role.
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
