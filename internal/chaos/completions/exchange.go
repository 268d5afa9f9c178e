package completions

import (
	"encoding/json"
	"regexp"
	"strings"

	"sluice/internal/model/modeltest"
)

var (
	askWord  = regexp.MustCompile(`\[ask ([^\]]+)\]`)
	turnWord = regexp.MustCompile(`turn (\d+) of`)
)

// Announcement is the announcement of the agent that was asked.
const Announcement = "We were asked something."

// exchange answers the steps of an exchange, and starts one if a message asks for it.
func exchange(system, asked string, toolAnswered bool) (modeltest.Reply, bool) {
	switch {
	case strings.Contains(system, "An exchange with another agent"):
		return modeltest.Say(Announcement), true
	case turnWord.MatchString(system):
		return modeltest.Say("That was turn " + turnWord.FindStringSubmatch(system)[1] + "."), true
	case strings.Contains(system, "comes from another agent"):
		return modeltest.Say("The first answer."), true
	}
	m := askWord.FindStringSubmatch(asked)
	if m == nil || toolAnswered {
		return modeltest.Reply{}, false
	}
	args, err := json.Marshal(map[string]any{"sessionKey": m[1], "message": "A question.", "timeoutSeconds": 0})
	if err != nil { // two texts and a number can always be encoded
		return modeltest.Reply{}, false
	}
	return modeltest.Call("sessions_send", string(args)), true
}
