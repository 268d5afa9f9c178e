package router

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// questionStore is where the answers to questions are stored.
type questionStore interface {
	Approval(ctx context.Context, id ledger.ApprovalID) (ledger.Approval, error)
	PairingOf(ctx context.Context, channel, account string, user sessions.UserID) (ledger.Pairing, error)
}

// outcome is what was decided about a question, for people. Without a text it is open.
type outcome struct {
	text  string
	label flow.Label // of what was decided; invalid: whoever was asked may read it
}

// outcomeOf reads what was decided about a question.
func outcomeOf(ctx context.Context, store questionStore, q ledger.Question, now time.Time) (outcome, error) {
	if about, ok := q.Pairing(); ok {
		p, err := store.PairingOf(ctx, about.Channel, about.Account, about.User.ID)
		if err != nil && !errors.Is(err, sessions.ErrNotFound) {
			return outcome{}, fmt.Errorf("read pairing: %w", err)
		}
		return outcome{text: p.Outcome(about.Code, now)}, nil
	}
	if q == "" {
		return outcome{text: ledger.OverText}, nil
	}
	p, err := store.Approval(ctx, ledger.ApprovalID(q))
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return outcome{text: ledger.OverText}, nil
	case err != nil:
		return outcome{}, fmt.Errorf("read approval: %w", err)
	}
	return outcome{text: p.Outcome(), label: p.Label}, nil
}
