package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"sluice/policy/flow"
	"sluice/sessions"
)

// TooLate is the denial of a call that timed out. It is stored, and [Approval.Outcome] compares it.
const TooLate = "nobody approved it in time"

// otherTerms is the denial of a call whose terms have changed since the question: other people may have to decide now.
const otherTerms = "who has to approve it has changed since this was asked; call it again to ask for a new decision"

// learntSince is the denial of a call whose session has learnt something since the question, for example from a stranger's file.
const learntSince = "the conversation has learnt more since this was asked; call it again to ask for a new decision"

// ApprovalID names an approval: "apr_" and 12 hex digits, made of the call or delivery that it is about.
type ApprovalID string

// ApprovalStatus is where an approval stands.
type ApprovalStatus string

// The approval statuses.
//
//	pending ──► allowed ──► used (the call may have begun)
//	   └──────► denied (by a person, by time, or with the run's end)
const (
	ApprovalPending ApprovalStatus = "pending"
	ApprovalAllowed ApprovalStatus = "allowed"
	ApprovalUsed    ApprovalStatus = "used"
	ApprovalDenied  ApprovalStatus = "denied"
)

// Approval is a tool call, or a text on its way out, that somebody has to decide about, and what was decided.
type Approval struct {
	ID      ApprovalID
	Session sessions.ID
	Run     sessions.RunID
	Agent   string
	CallID  string
	Tool    string
	Args    json.RawMessage
	Label   flow.Label // of Args
	Why     string     // it has to be decided about; empty: the permission mode says so
	Terms   sessions.Terms
	// Delivery is set where it is about a text on its way out and not about a call.
	Delivery DeliveryID
	Status   ApprovalStatus
	Reason   flow.Text // of a denial, labelled with where it was said; the model reads it where its session may learn it
	By       string    // who decided: a principal, "operator" or "gateway"
	Created  time.Time
	Expires  time.Time // undecided it is denied then, or allowed where Terms.AllowOnTimeout
	Decided  time.Time // zero while it is pending
}

// ApprovalMove replaces an approval's status, reason, decider and time if its stored status is From; else ErrConflict.
type ApprovalMove struct {
	From     ApprovalStatus
	Approval Approval
}

// Automatic is what becomes of an approval without a person's decision: it counts only for the terms under which it was asked for, for
// what its session had learnt by then, and not for longer than that. Empty: nothing.
func (p Approval) Automatic(terms sessions.Terms, taint flow.Label, now time.Time) (to ApprovalStatus, reason string) {
	switch {
	case p.Status != ApprovalPending && p.Status != ApprovalAllowed:
		return "", ""
	case !p.Terms.Same(terms):
		return ApprovalDenied, otherTerms
	case p.Label != taint:
		return ApprovalDenied, learntSince
	case p.Status == ApprovalAllowed, p.Expires.After(now):
		return "", ""
	case p.Terms.AllowOnTimeout:
		return ApprovalAllowed, ""
	}
	return ApprovalDenied, TooLate
}

// GatewaySays is a reason that the gateway gives by itself: one of a few sentences that tell nothing.
func GatewaySays(reason string) flow.Text { return flow.NewText(reason, NoticeLabel()) }

// Move is the change from the status it has to another.
func (p Approval) Move(to ApprovalStatus, reason flow.Text, by string, at time.Time) ApprovalMove {
	m := ApprovalMove{From: p.Status, Approval: p}
	m.Approval.Status, m.Approval.Reason, m.Approval.By, m.Approval.Decided = to, reason, by, at
	return m
}

// AuditEntry is the entry of the audit trail about a decision; silence decides by the gateway.
func (p Approval) AuditEntry(to ApprovalStatus, by string, reason flow.Text, at time.Time) sessions.AuditEntry {
	return sessions.AuditEntry{
		At: at, Actor: by, Action: "approval." + string(to), Object: string(p.ID), Session: p.Session, Label: p.Label.Join(reason.Label()),
		Detail: struct {
			Tool     string         `json:"tool,omitempty"`
			Run      sessions.RunID `json:"run,omitempty"`
			Delivery DeliveryID     `json:"delivery,omitempty"`
			Reason   string         `json:"reason,omitempty"`
		}{p.Tool, p.Run, p.Delivery, reason.Raw()},
	}
}

// ApprovalIDOf makes the id of what is told from all else by some names.
func ApprovalIDOf(names ...string) ApprovalID {
	sum := sha256.Sum256([]byte(strings.Join(names, "\x00")))
	return ApprovalID("apr_" + hex.EncodeToString(sum[:6]))
}

const (
	// OverText is shown of a question that ended without a decision.
	OverText = "This is over."
	// DecidedText is shown of a question whose decision the reader may not know.
	DecidedText = "This is decided."
)

// Outcome is what was decided about a call or a message; empty while it is open. Why somebody denied it is not said: the
// reason may have been written where more may be known.
func (p Approval) Outcome() string {
	allowed := p.Status == ApprovalAllowed || p.Status == ApprovalUsed
	switch {
	case p.Status == ApprovalPending:
		return ""
	case allowed && p.By == ByGateway:
		return "No answer came in time, which counts as a yes."
	case allowed:
		return "Allowed."
	case p.By == ByGateway && p.Reason.Raw() == TooLate:
		return "No answer came in time, which counts as a no."
	case p.By == ByGateway:
		return OverText
	}
	return "Denied."
}

// ByGateway decides where no person has.
const ByGateway = "gateway"
