package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"sluice/policy/flow"
	"sluice/sessions"
)

// RefusalsMax is how many refusals are kept, the latest ones.
const RefusalsMax = 5000

// Refusal says that somebody's message was refused: when, where and why, but not what it said.
type Refusal struct {
	ID       string // derived from the place and the person
	Channel  string
	Account  string
	ChatType sessions.ChatType
	Chat     sessions.ConversationID
	Title    string // of the conversation
	User     sessions.Peer
	Reason   string     // what in the configuration says so
	Level    flow.Level // of the channel
	Count    int        // how often
	First    time.Time
	Last     time.Time
}

// ForLimit begins the reason of a refusal for a limit; the rest of its first word is the setting below limits.
const ForLimit = "limits."

// Limit is the setting below limits that refused the message, or empty.
func (r *Refusal) Limit() string {
	name, limited := strings.CutPrefix(r.Reason, ForLimit)
	if !limited {
		return ""
	}
	name, _, _ = strings.Cut(name, " ")
	return name
}

// RefusalIDOf is the id of the refusals of a person in a place.
func RefusalIDOf(at sessions.Route, user sessions.UserID) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{at.Channel, at.Account, string(at.Conversation), string(user)}, "\x00")))
	return "ref_" + hex.EncodeToString(sum[:8])
}
