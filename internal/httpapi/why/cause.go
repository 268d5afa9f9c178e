package why

import (
	"fmt"
	"strings"

	"sluice/router/ledger"
)

// entryCauses are why the gateway records what it or a person does, by the action of the entry.
var entryCauses = map[string]string{
	"access.sign_in":  "A browser signed in.",
	"audit.begin":     "The chain of hashes begins here.",
	"bots.stopped":    "Bots answered each other again and again, and no person wrote.",
	"cron.fired":      "The job was due.",
	"exchange.ended":  "The exchange between the two agents was over.",
	"hook.replayed":   "Somebody asked to handle the request again.",
	"memory.delete":   "Somebody asked to forget the memory.",
	"memory.save":     "Somebody saved the memory.",
	"node.request":    "A program asked to be a node.",
	"pairing.locked":  "There were too many wrong codes. For an hour, no code is accepted.",
	"pairing.request": "Somebody who may not talk to the bot wrote to it.",
	"pairing.wrong":   "No open request has this code, or the code has expired.",
	"session.learn":   "Text of another level came into the conversation.",
	"session.raise":   "The owner raised the level with a command.",
	"task.notify":     "The client of the task had asked to be notified.",
}

// entryCause is why an entry was recorded, from what is stored with it: the reason or error itself, or else the kind of the entry, and
// who did it by which way.
func entryCause(e *ledger.AuditRecord) string {
	d := detailOf(e.Detail)
	decision, _ := decisionOf(e.Detail)
	for _, reason := range []string{decision.Reason, d.Reason, d.Error, d.Text} {
		if reason != "" {
			return reason
		}
	}
	parts := []string{wayOf(e.Actor)}
	if cause := entryCauses[e.Action]; cause != "" {
		parts = []string{cause, parts[0]}
	}
	if d.From != "" && d.To != "" {
		parts = append(parts, fmt.Sprintf("The level changed from %s to %s.", d.From, d.To))
	}
	return strings.Join(parts, " ")
}

// wayOf says who an actor is, and how they reach the gateway.
func wayOf(actor string) string {
	kind, name, named := strings.Cut(actor, ":")
	switch {
	case actor == "" || actor == "unknown" || actor == "nobody":
		return "It is not known who did it."
	case actor == "gateway":
		return "The gateway did it by itself."
	case actor == "operator":
		return "It was done with the gateway's own token, over the HTTP API: by the page, the command line or a program."
	case kind == "token" && named:
		return fmt.Sprintf("It was done with the token %s, over the HTTP API: by the page, the command line or a program.", name)
	case kind == "proxy" && named:
		return fmt.Sprintf("It was done by %s over the HTTP API. The proxy in front of the gateway gave this name.", name)
	case (kind == "agent" || kind == "job" || kind == "hook") && named:
		return fmt.Sprintf("The %s %s did it.", kind, name)
	}
	return "It was done by " + actor + "." // a person is named with the channel, such as telegram:1001
}
