package router

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sluice/policy/flow"
	"sluice/sessions"
)

// Question names what a delivery asks people to decide: an approval's id, or a person's pairing. Empty for nothing.
type Question string

const pairingQuestion = "pair"

func (id ApprovalID) question() Question { return Question(id) }

func (p Pairing) question() Question {
	return Question(strings.Join([]string{pairingQuestion, p.Code, p.Channel, p.Account, string(p.User.ID)}, "/"))
}

// pairing is whom a question about a pairing is about; false for other questions.
func (q Question) pairing() (Pairing, bool) {
	words := strings.SplitN(string(q), "/", 5)
	if len(words) != 5 || words[0] != pairingQuestion {
		return Pairing{}, false
	}
	return Pairing{Code: words[1], Channel: words[2], Account: words[3], User: sessions.Peer{ID: sessions.UserID(words[4])}}, true
}

// questionStore is where the answers to questions are stored.
type questionStore interface {
	Approval(ctx context.Context, id ApprovalID) (Approval, error)
	PairingOf(ctx context.Context, channel, account string, user sessions.UserID) (Pairing, error)
}

// outcome is what was decided about a question, for people. Without a text it is open.
type outcome struct {
	text  string
	label flow.Label // of what was decided; invalid: whoever was asked may read it
}

const (
	overText    = "This is over."
	decidedText = "This is decided."
)

// outcomeOf reads what was decided about a question.
func outcomeOf(ctx context.Context, store questionStore, q Question, now time.Time) (outcome, error) {
	if about, ok := q.pairing(); ok {
		p, err := store.PairingOf(ctx, about.Channel, about.Account, about.User.ID)
		if err != nil && !errors.Is(err, sessions.ErrNotFound) {
			return outcome{}, fmt.Errorf("read pairing: %w", err)
		}
		return outcome{text: p.outcome(about.Code, now)}, nil
	}
	if q == "" {
		return outcome{text: overText}, nil
	}
	p, err := store.Approval(ctx, ApprovalID(q))
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return outcome{text: overText}, nil
	case err != nil:
		return outcome{}, fmt.Errorf("read approval: %w", err)
	}
	return outcome{text: p.outcome(), label: p.Label}, nil
}

// outcome is what was decided about a call or a message; empty while it is open. Why somebody denied it is not said: the
// reason may have been written where more may be known.
func (p Approval) outcome() string {
	allowed := p.Status == ApprovalAllowed || p.Status == ApprovalUsed
	switch {
	case p.Status == ApprovalPending:
		return ""
	case allowed && p.By == byGateway:
		return "Nobody decided in time, which is a yes here."
	case allowed:
		return "Allowed."
	case p.By == byGateway && p.Reason.Raw() == tooLate:
		return "Nobody decided in time, which is a no."
	case p.By == byGateway:
		return overText
	}
	return "Denied."
}

// outcome is what was decided about the person to whom a code was given; empty while it is open.
func (p Pairing) outcome(code string, now time.Time) string {
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
