package ledger

import (
	"strings"
	"time"

	"sluice/sessions"
)

// Question names what a delivery asks people to decide: an approval's id, or a person's pairing. Empty for nothing.
type Question string

const pairingQuestion = "pair"

func (id ApprovalID) question() Question { return Question(id) }

// Question is what an owner is asked about the person: it names the code, so that an older question ends with its code.
func (p Pairing) Question() Question {
	return Question(strings.Join([]string{pairingQuestion, p.Code, p.Channel, p.Account, string(p.User.ID)}, "/"))
}

// Pairing is whom a question about a pairing is about; false for other questions.
func (q Question) Pairing() (Pairing, bool) {
	words := strings.SplitN(string(q), "/", 5)
	if len(words) != 5 || words[0] != pairingQuestion {
		return Pairing{}, false
	}
	return Pairing{Code: words[1], Channel: words[2], Account: words[3], User: sessions.Peer{ID: sessions.UserID(words[4])}}, true
}

// Outcome is what was decided about the person to whom a code was given; empty while it is open.
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
