package offline

import (
	"strings"

	"sluice/sessions"
)

// inExchange is what the guide says where an exchange with another agent asks
// for its word: it answers no answers, and announces in a sentence. ok is false elsewhere.
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
