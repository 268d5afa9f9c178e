package ledger

import (
	"strings"
	"time"

	"sluice/sessions"
)

// Question names what a delivery asks people to decide: an approval's id, or a person's pairing. May be empty.
type Question string

const pairingQuestion = "pair"

func (id ApprovalID) question() Question { return Question(id) }

// Question is the question about the person. It contains the code, so that an older question ends with its code.
func (p Pairing) Question() Question {
	return Question(strings.Join([]string{pairingQuestion, p.Code, p.Channel, p.Account, string(p.User.ID)}, "/"))
}

// Pairing is the person of a question about a pairing; false for other questions.
func (q Question) Pairing() (Pairing, bool) {
	words := strings.SplitN(string(q), "/", 5)
	if len(words) != 5 || words[0] != pairingQuestion {
		return Pairing{}, false
	}
	return Pairing{Code: words[1], Channel: words[2], Account: words[3], User: sessions.Peer{ID: sessions.UserID(words[4])}}, true
}

// Outcome says what was decided about a person with a code; empty while it is open.
func (p Pairing) Outcome(code string, now time.Time) string {
	switch {
	case p.Status == PairingApproved:
		return "Admitted."
	case p.Status == PairingDenied:
		return "Not admitted."
	case p.Status == PairingPending && p.Code == code && p.Expires.After(now):
		return ""
	}
	return "The code has expired."
}
