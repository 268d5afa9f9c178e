package ledger

import (
	"strings"
	"time"

	"sluice/sessions"
)

// Question names what a delivery asks people to decide: an approval's id, a person's pairing, or a program that asks to be a node. May be empty.
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

const nodeQuestion = "node"

// Question is the question whether a program may be a node.
func (n Node) Question() Question { return Question(nodeQuestion + "/" + n.Code + "/" + n.ID) }

// Node is the node of a question about one; false for other questions.
func (q Question) Node() (Node, bool) {
	words := strings.SplitN(string(q), "/", 3)
	if len(words) != 3 || words[0] != nodeQuestion {
		return Node{}, false
	}
	return Node{Code: words[1], ID: words[2]}, true
}

// Outcome says what was decided about a program with a code; empty while it is open.
func (n Node) Outcome(code string, now time.Time) string {
	switch {
	case n.Status == NodeApproved:
		return "Approved."
	case n.Status == NodeRevoked:
		return "Refused."
	case n.Status == NodePending && n.Code == code && n.Expires.After(now):
		return ""
	}
	return "The code has expired."
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
