package offline

import (
	"strings"

	"sluice/sessions"
)

// The words with which a step of an exchange is ended, as the step itself tells a model.
const (
	replySkip    = "REPLY_SKIP"
	announceSkip = "ANNOUNCE_SKIP"
)

// inExchange is what the guide says where an exchange with another agent asks
// for its word: it answers no answers, and announces in a sentence. ok is false elsewhere.
func inExchange(req sessions.Request) (c sessions.Completion, ok bool) {
	switch {
	case strings.Contains(req.System, "answer exactly "+replySkip):
		return says(replySkip), true
	case !strings.Contains(req.System, "answer exactly "+announceSkip):
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
