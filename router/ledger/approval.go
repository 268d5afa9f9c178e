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
const TooLate = "it was not approved in time"

// otherTerms is the reason for denying a call whose terms have changed since the question: other people may have to
// decide now.
const otherTerms = "the approvers have changed since the question was asked; call the tool again to ask for a new decision"

// learntSince is the reason for denying a call whose session has learnt something since the question, for example
// from a stranger's file.
const learntSince = "the conversation has learned more since the question was asked; call the tool again to ask for a new decision"

// ApprovalID names an approval: "apr_" and 12 hex digits, derived from its call or delivery.
type ApprovalID string

// ApprovalStatus is the state of an approval.
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

// Approval is a question about a tool call, an outgoing text or the limit of a budget (Terms.Raise), and its answer.
type Approval struct {
	ID      ApprovalID
	Session sessions.ID
	Run     sessions.RunID
	Agent   string
	Channel string // of the conversation that it is about; empty: none
	CallID  string
	Tool    string
	Args    json.RawMessage
	Label   flow.Label // of Args
	Why     string     // the reason for the question; empty: the permission mode
	Terms   sessions.Terms
	// Delivery is set if the question is about an outgoing text instead of a call.
	Delivery DeliveryID
	Status   ApprovalStatus
	Reason   flow.Text // of a denial, with the label of the place where it was typed; the model reads it if its session may learn it
	By       string    // who decided: a principal, "operator" or "gateway"
	Created  time.Time
	Expires  time.Time // then it is denied, or allowed if Terms.AllowOnTimeout
	Decided  time.Time // zero while it is pending
}

// The kinds of questions, as [Query] selects them.
const (
	AskCall    = "call"    // whether a tool may run
	AskMessage = "message" // whether a held message may be sent
)

// ApprovalMove replaces an approval's status, reason, decider and time if its stored status is From; else ErrConflict.
type ApprovalMove struct {
	From     ApprovalStatus
	Approval Approval
}

// Automatic is the status that an approval takes without a person's decision: it is valid only under the terms at the
// time of the question, for what the session had learnt by then, and until it expires. Empty: no change.
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

// GatewaySays is one of the gateway's fixed reasons. They contain nothing secret.
func GatewaySays(reason string) flow.Text { return flow.NewText(reason, NoticeLabel()) }

// Move is the change of an approval to another status.
func (p Approval) Move(to ApprovalStatus, reason flow.Text, by string, at time.Time) ApprovalMove {
	m := ApprovalMove{From: p.Status, Approval: p}
	m.Approval.Status, m.Approval.Reason, m.Approval.By, m.Approval.Decided = to, reason, by, at
	return m
}

// AuditEntry is the audit entry of a decision; a timeout is a decision by the gateway.
func (p Approval) AuditEntry(to ApprovalStatus, by string, reason flow.Text, at time.Time) sessions.AuditEntry {
	return sessions.AuditEntry{
		At: at, Actor: by, Action: "approval." + string(to), Object: string(p.ID), Session: p.Session, Label: p.Label.Join(reason.Label()),
		Detail: struct {
			Tool     string         `json:"tool,omitempty"`
			Run      sessions.RunID `json:"run,omitempty"`
			Delivery DeliveryID     `json:"delivery,omitempty"`
			Raise    string         `json:"raise,omitempty"`
			Reason   string         `json:"reason,omitempty"`
		}{p.Tool, p.Run, p.Delivery, p.raise(), reason.Raw()},
	}
}

// raise says what a yes gives to a budget; empty if it is not about one.
func (p Approval) raise() string {
	if p.Terms.Raise == nil {
		return ""
	}
	return p.Terms.Raise.String()
}

// ApprovalIDOf derives an id from names.
func ApprovalIDOf(names ...string) ApprovalID {
	sum := sha256.Sum256([]byte(strings.Join(names, "\x00")))
	return ApprovalID("apr_" + hex.EncodeToString(sum[:6]))
}

const (
	// OverText replaces a question that ended without a decision.
	OverText = "This question has expired."
	// DecidedText replaces a question if the reader may not know the decision.
	DecidedText = "This has been decided."
)

// Outcome says what was decided about a call or a message; empty while it is open. It does not give the reason of a
// denial, which may be more secret than the conversation.
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

// ByGateway is the decider if no person has decided.
const ByGateway = "gateway"
