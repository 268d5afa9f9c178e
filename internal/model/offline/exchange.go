package offline

import (
	"strings"

	"sluice/sessions"
)

// inExchange returns the guide's answer to a step of an exchange with another agent: it does not reply to answers,
// and announces in one sentence. ok is false outside of exchanges.
func inExchange(req sessions.Request) (c sessions.Completion, ok bool) {
	switch {
	case strings.Contains(req.System, "answer exactly "+sessions.ReplySkip):
		return says(sessions.ReplySkip), true
	case !strings.Contains(req.System, "answer exactly "+sessions.AnnounceSkip):
		return c, false
	}
	asked, answered := "", ""
	for _, m := range req.Messages {
		switch {
		case m.Role == sessions.RoleAgent && m.ID != req.Messages[len(req.Messages)-1].ID:
			asked, answered = m.Text(), ""
		case m.Role == sessions.RoleAssistant && m.Text() != "" && answered == "":
			answered = m.Text()
		}
	}
	return says("Another agent asked: “" + short(asked) + "”. I answered: “" + short(answered) + "”."), true
}
