package outbound

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sluice/internal/visible"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/usertext"
	"sluice/sessions"
)

// questionMax is how many bytes of a text a question shows.
const questionMax = 1500

// questionStore has the decisions about questions.
type questionStore interface {
	Approval(ctx context.Context, id ledger.ApprovalID) (ledger.Approval, error)
	PairingOf(ctx context.Context, channel, account string, user sessions.UserID) (ledger.Pairing, error)
	Node(ctx context.Context, id string) (ledger.Node, error)
}

// Outcome is the decision about a question, for people. An open question has no text.
type Outcome struct {
	Text  string
	Label flow.Label // of the decision; invalid: everybody who was asked may read it
}

// OutcomeOf reads the decision about a question.
func OutcomeOf(ctx context.Context, store questionStore, q ledger.Question, now time.Time) (Outcome, error) {
	if about, ok := q.Pairing(); ok {
		p, err := store.PairingOf(ctx, about.Channel, about.Account, about.User.ID)
		if err != nil && !errors.Is(err, sessions.ErrNotFound) {
			return Outcome{}, fmt.Errorf("read pairing: %w", err)
		}
		return Outcome{Text: p.Outcome(about.Code, now)}, nil
	}
	if about, ok := q.Node(); ok {
		n, err := store.Node(ctx, about.ID)
		if err != nil && !errors.Is(err, sessions.ErrNotFound) {
			return Outcome{}, fmt.Errorf("read node: %w", err)
		}
		return Outcome{Text: n.Outcome(about.Code, now)}, nil
	}
	if q == "" {
		return Outcome{Text: ledger.OverText}, nil
	}
	p, err := store.Approval(ctx, ledger.ApprovalID(q))
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return Outcome{Text: ledger.OverText}, nil
	case err != nil:
		return Outcome{}, fmt.Errorf("read approval: %w", err)
	}
	return Outcome{Text: p.Outcome(), Label: p.Label}, nil
}

// NotShown replaces a text that the question's conversation may not carry.
func NotShown(id ledger.ApprovalID) string { return "It can't be shown here: " + ShownBy(id) + " it." }

// ShownBy names the command that shows an approval in full.
func ShownBy(id ledger.ApprovalID) string { return "`sluice approvals show " + string(id) + "` shows" }

// SilenceMeans says what happens if nobody decides in time.
func SilenceMeans(p ledger.Approval) string {
	counts := "no"
	if p.Terms.AllowOnTimeout {
		counts = "yes"
	}
	return fmt.Sprintf("No answer within %s counts as a %s.", usertext.Duration(p.Expires.Sub(p.Created)), counts)
}

// Shown is a text as a question shows it: in a code block, shortened if it is long. Invisible characters, and those
// that would change the formatting, are shown as their code points.
func Shown(id ledger.ApprovalID, text string) string {
	if !policy.CheckVisible.Skipped() {
		text = visible.Text(text)
	}
	more := ""
	if len(text) > questionMax {
		more = fmt.Sprintf("\n… and %d more bytes: %s all of it.", len(text)-questionMax, ShownBy(id))
		text = strings.ToValidUTF8(text[:questionMax], "")
	}
	return visible.Block(text) + more
}
