package announce

import (
	"fmt"
	"strings"

	"sluice/sessions"
)

// announceRequest is the input of the target's session in the announcing step; the brief says what it is about.
const announceRequest = "Now write what the people in this conversation should know about this exchange."

// reportRequest is the input of a sub-agent's session when its work has ended.
const reportRequest = "Now report the result of your task."

// Brief is the part of the prompt that explains a step to the model. It is composed when the step runs and never
// stored, because it is not part of the conversation.
func Brief(x Exchange) string {
	var lines []string
	switch {
	case x.Kind == Spawn && x.Phase == Asking:
		lines = []string{
			"You are a sub-agent. Another session of the gateway gave you one task; no one else writes to you here.",
			"Do the task and answer with its result. You can't ask questions.",
		}
	case x.Kind == Spawn:
		lines = []string{
			"Your task has ended. Your next answer is shown to the people of the session that gave you the task, below a status line that the gateway writes.",
			"Give the result in a few sentences. To stay silent, answer exactly " + sessions.AnnounceSkip + ".",
		}
	case x.Phase == Asking && x.Blind:
		lines = []string{
			fmt.Sprintf("The last message comes from another agent (agent %s, session %s), not from a person. That agent may not see this conversation: your answer does not go to it.", x.Requester.Agent, x.Requester.Key),
			"Afterwards you may tell the people in your own conversation about it. To say nothing at all, answer exactly " + sessions.NoReply + ".",
		}
	case x.Phase == Asking:
		lines = []string{
			fmt.Sprintf("The last message comes from another agent (agent %s, session %s), not from a person. Your answer goes to that agent.", x.Requester.Agent, x.Requester.Key),
			"It may answer you, and afterwards you may tell the people in your own conversation about it. To say nothing at all, answer exactly " + sessions.NoReply + ".",
		}
	case x.Phase == Replying:
		other, role := x.Target, "asked"
		if x.Speaker().Session == x.Target.Session {
			other, role = x.Requester, "were asked"
		}
		lines = []string{
			fmt.Sprintf("The last message comes from another agent (agent %s, session %s): turn %d of at most %d of an exchange in which you %s. Your answer goes to that agent.",
				other.Agent, other.Key, x.Turn, x.MaxTurns, role),
			"If the exchange needs no further message, answer exactly " + sessions.ReplySkip + ".",
		}
	case x.Phase == Announcing:
		lines = []string{
			fmt.Sprintf("An exchange with another agent (agent %s, session %s) has ended.", x.Requester.Agent, x.Requester.Key),
			"Its request was: " + x.Request,
			"Your first answer was: " + x.Reply,
			"The last message was: " + x.Latest,
			"Your next answer is shown to the people in this conversation. To stay silent, answer exactly " + sessions.AnnounceSkip + ".",
		}
	}
	return strings.Join(lines, "\n")
}
