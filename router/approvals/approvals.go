package approvals

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/internal/spending"
	"sluice/policy/flow"
	"sluice/router/decider"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/router/request"
	"sluice/sessions"
)

const (
	// decideTries is how often a decision is retried after a conflicting change.
	decideTries = 4
	// reasonMax is the maximum length of a reason in bytes.
	reasonMax = 500
)

// Store is what decisions need of the store.
type Store interface {
	// Commit applies a change in one durable transaction.
	Commit(ctx context.Context, change ledger.Change) error
	Approval(ctx context.Context, id ledger.ApprovalID) (ledger.Approval, error)
	AllowRulesOf(ctx context.Context, agent, tool string) ([]ledger.AllowRule, error)
	ListAllowRules(ctx context.Context) ([]ledger.AllowRule, error)
	Session(ctx context.Context, id sessions.ID) (sessions.Record, error)
	Run(ctx context.Context, id sessions.RunID) (sessions.Run, error)
	Delivery(ctx context.Context, id ledger.DeliveryID) (ledger.Delivery, error)
}

// Monitor says what a session may learn, see [policy.Monitor].
type Monitor interface {
	MayRise(record sessions.Record, route sessions.Route, label flow.Label) bool
}

// Committer stores changes and wakes the lanes that they give work to, see [lanes.Lanes].
type Committer interface {
	Commit(ctx context.Context, change ledger.Change) error
}

// Approvals lets people decide about tool calls and about messages that a rule holds. All fields are required. It is
// safe for concurrent use.
type Approvals struct {
	Store    Store
	Composer *outbound.Composer
	Routes   *outbound.Routes
	Held     *outbound.HeldDeliveries
	Monitor  Monitor
	Lanes    Committer
	Now      func() time.Time
}

// DecideApproval decides about a pending approval. It returns a [*request.Error] if the approval is already decided
// or has expired, a [*decider.NotApproverError] if others have to decide, and [sessions.ErrNotFound] if it does not
// exist.
func (d *Approvals) DecideApproval(ctx context.Context, id ledger.ApprovalID, v decider.Verdict) (ledger.Approval, error) {
	for range decideTries {
		change, p, err := d.Verdict(ctx, id, v) // on a retry this tells what somebody else decided
		if err != nil {
			return p, err
		}
		err = d.Lanes.Commit(ctx, change)
		switch {
		case err == nil:
			return change.Approvals[0].Approval, nil
		case !errors.Is(err, sessions.ErrConflict):
			return p, fmt.Errorf("decide approval: %w", err)
		}
	}
	return ledger.Approval{}, fmt.Errorf("decide approval %s: another change came first at every attempt: %w", id, sessions.ErrConflict)
}

// Verdict is the change that a decision makes.
func (d *Approvals) Verdict(ctx context.Context, id ledger.ApprovalID, v decider.Verdict) (ledger.Change, ledger.Approval, error) {
	p, err := d.Store.Approval(ctx, id)
	if err != nil {
		return ledger.Change{}, p, err
	}
	if err := decider.Check(ctx, d.Store, v, p); err != nil {
		return ledger.Change{}, p, err
	}
	switch {
	case p.Status != ledger.ApprovalPending:
		return ledger.Change{}, p, &request.Error{Text: fmt.Sprintf("%s is already %s", id, decisionOf(p))}
	case !p.Expires.After(d.Now()):
		return ledger.Change{}, p, &request.Error{Text: fmt.Sprintf("%s has expired: the deadline was %s", id, p.Expires.UTC().Format("15:04 MST"))}
	case len(v.Reason.Raw()) > reasonMax:
		return ledger.Change{}, p, &request.Error{Field: "reason", Text: fmt.Sprintf("is %d bytes, the maximum is %d", len(v.Reason.Raw()), reasonMax)}
	}
	to, reason := ledger.ApprovalAllowed, ledger.GatewaySays("")
	if !v.Allow {
		to, reason = ledger.ApprovalDenied, v.Denial()
	}
	change := ledger.Change{
		Approvals: []ledger.ApprovalMove{p.Move(to, reason, v.Actor, d.Now())},
		Change:    sessions.Change{Audit: []sessions.AuditEntry{p.AuditEntry(to, v.Actor, v.Reason, d.Now())}},
	}
	if v.Allow && p.Terms.Raise != nil {
		change.Raises = []spending.Raise{*p.Terms.Raise}
	}
	return change, p, d.Held.Decide(ctx, &change, p, v.Allow, reason)
}

// decisionOf names the decision for people.
func decisionOf(p ledger.Approval) ledger.ApprovalStatus {
	if p.Status == ledger.ApprovalUsed {
		return ledger.ApprovalAllowed
	}
	return p.Status
}

// MayDecide reports whether somebody may decide about an approval; false if there is no such approval.
func (d *Approvals) MayDecide(ctx context.Context, id ledger.ApprovalID, v decider.Verdict) (bool, error) {
	p, err := d.Store.Approval(ctx, id)
	if errors.Is(err, sessions.ErrNotFound) {
		return false, nil
	}
	if err == nil {
		err = decider.Check(ctx, d.Store, v, p)
	}
	if _, refused := errors.AsType[*decider.NotApproverError](err); refused {
		return false, nil
	}
	return err == nil, err
}
