package approvals

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sluice/policy"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/router/request"
	"sluice/router/work"
	"sluice/sessions"
)

// Of implements [work.Approvals].
func (d *Approvals) Of(session *sessions.Session, record *sessions.Record, run *sessions.Run) work.Approver {
	return &calls{by: d, session: session, record: record, run: run}
}

// calls decides about the calls of one run.
type calls struct {
	by      *Approvals
	session *sessions.Session
	record  *sessions.Record // as it was when the run started
	run     *sessions.Run
}

var (
	_ work.Approvals = (*Approvals)(nil)
	_ work.Approver  = (*calls)(nil)
)

// Decide implements [work.Approver].
func (a *calls) Decide(ctx context.Context, message sessions.MessageID, calls []sessions.CallToConfirm) ([]sessions.Confirmation, error) {
	asked, err := a.asked(ctx, message, calls)
	if err != nil {
		return nil, err
	}
	now := a.by.Now()
	var next time.Time // when the next approval expires
	var change ledger.Change
	confirmations := make([]sessions.Confirmation, len(calls))
	for i, p := range asked {
		stored, c := p.Status, &confirmations[i]
		if to, reason := p.Automatic(calls[i].Terms, a.session.Taint(), now); to != "" {
			change.Audit = append(change.Audit, p.AuditEntry(to, ledger.ByGateway, ledger.GatewaySays(reason), now))
			p.Status, p.Reason, p.By, p.Decided = to, ledger.GatewaySays(reason), ledger.ByGateway, now
		}
		*c = a.denial(p)
		switch {
		case p.Status == ledger.ApprovalUsed:
			*c = sessions.Interrupted(p.CallID)
		case p.Status == ledger.ApprovalAllowed:
			c.Approved, p.Status = true, ledger.ApprovalUsed
		case p.Status == ledger.ApprovalPending && (next.IsZero() || p.Expires.Before(next)):
			next = p.Expires
		}
		if p.Status != stored {
			change.Approvals = append(change.Approvals, ledger.ApprovalMove{From: stored, Approval: p})
		}
	}
	if !next.IsZero() {
		return nil, &work.AwaitedError{AtMost: max(next.Sub(now), time.Millisecond)}
	}
	if len(change.Approvals) > 0 {
		if err := a.by.Store.Commit(ctx, change); err != nil {
			return nil, fmt.Errorf("store approvals: %w", err)
		}
	}
	return confirmations, nil
}

// Denied implements [work.Approver].
func (a *calls) Denied(ctx context.Context, message sessions.MessageID, calls []sessions.Part) (denied []sessions.Confirmation, err error) {
	for _, call := range calls {
		p, err := a.by.Store.Approval(ctx, approvalID(a.run.Session, message, call.CallID))
		switch {
		case errors.Is(err, sessions.ErrNotFound):
		case err != nil:
			return nil, fmt.Errorf("read approval: %w", err)
		case p.Status == ledger.ApprovalDenied:
			denied = append(denied, a.denial(p))
		}
	}
	return denied, nil
}

// denial is the refusal of a call as its session may read it. Reading the reason raises the session like any other
// text. The reason is left out if the session may not learn it, or could then no longer answer in its own
// conversation.
func (a *calls) denial(p ledger.Approval) sessions.Confirmation {
	record, route := a.session.Record(), a.run.Route
	if route.IsZero() {
		route = record.Route
	}
	may := record.Clearance
	if !a.by.Monitor.MayRise(record, route, p.Reason.Label()) {
		may = record.Taint.Level()
	}
	quotes := policy.NewQuotation(may)
	reason := quotes.Or(p.Reason, reasonKept)
	return sessions.Confirmation{CallID: p.CallID, Reason: reason, Label: quotes.Label()}
}

// asked returns the approvals of the calls. It stores the missing ones, each with a question about it.
func (a *calls) asked(ctx context.Context, message sessions.MessageID, calls []sessions.CallToConfirm) ([]ledger.Approval, error) {
	asked := make([]ledger.Approval, len(calls))
	var change ledger.Change
	for i, call := range calls {
		id := approvalID(a.run.Session, message, call.CallID)
		p, err := a.by.Store.Approval(ctx, id)
		switch {
		case errors.Is(err, sessions.ErrNotFound):
			p = a.newApproval(id, call)
			rule, err := a.by.ruleFor(ctx, p)
			if err != nil {
				return nil, err
			}
			if rule != nil {
				p = rule.answer(p, a.by.Now())
				change.Ask, change.Audit = append(change.Ask, p), append(change.Audit, rule.entry(p))
				break
			}
			change.Ask = append(change.Ask, p)
			question, err := a.question(ctx, p)
			if err != nil {
				return nil, err
			}
			change.Deliver = append(change.Deliver, question...)
		case err != nil:
			return nil, fmt.Errorf("read approval: %w", err)
		}
		asked[i] = p
	}
	if len(change.Ask) == 0 {
		return asked, nil
	}
	if err := a.by.Lanes.Commit(ctx, change); err != nil {
		return nil, fmt.Errorf("ask for approval: %w", err)
	}
	return asked, nil
}

func approvalID(session sessions.ID, message sessions.MessageID, call string) ledger.ApprovalID {
	return ledger.ApprovalIDOf(string(session), string(message), call)
}

func (a *calls) newApproval(id ledger.ApprovalID, call sessions.CallToConfirm) ledger.Approval {
	now := a.by.Now()
	return ledger.Approval{
		Why: call.Why, Terms: call.Terms,
		ID: id, Session: a.run.Session, Run: a.run.ID, Agent: a.record.Agent, Channel: a.place().Channel, CallID: call.CallID, Tool: call.Tool, Args: call.Args,
		Label: a.session.Taint(), Status: ledger.ApprovalPending, Created: now, Expires: now.Add(cmp.Or(call.Terms.Timeout, policy.ApprovalTimeout)),
	}
}

// place is the conversation of the run: its own, or that of its session.
func (a *calls) place() sessions.Route {
	if a.run.Route.IsZero() {
		return a.record.Route
	}
	return a.run.Route
}

// question asks about a call: the approvers that a rule names in their own chats, else an owner, either in the run's
// conversation if an owner may be there, or in an owner's direct chat on the same channel. A run without such a place, as
// that of a job, asks an owner wherever one can be reached. If none can, the call is only listed.
func (a *calls) question(ctx context.Context, p ledger.Approval) ([]ledger.Delivery, error) {
	route := a.place()
	if parent := a.record.SpawnedBy; route.IsZero() && parent != "" {
		record, err := a.by.Store.Session(ctx, parent)
		if err != nil && !errors.Is(err, sessions.ErrNotFound) {
			return nil, fmt.Errorf("read requester of sub-agent: %w", err)
		}
		route = record.Route
	}
	if slices.ContainsFunc(p.Terms.Approvers, func(list []string) bool { return len(list) > 0 }) {
		return a.by.Held.AskDeciders(ctx, p, route.Channel, questionText(p), bareQuestion(p))
	}
	if route.ChatType == sessions.Direct && !a.run.Input.Owner {
		var err error
		if route, err = a.ownersChat(ctx, route); err != nil {
			return nil, err
		}
	}
	if route.IsZero() {
		return a.by.Held.AskDeciders(ctx, p, a.place().Channel, questionText(p), bareQuestion(p))
	}
	d := a.by.Composer.Delivery(ledger.KindNotice, route, questionText(p), p.Label)
	d.Session, d.Run = p.Session, p.Run
	d.AskAbout(p)
	return []ledger.Delivery{d}, nil
}

// ownersChat returns an owner's direct chat on the channel of a conversation, or a zero route if no owner has one there.
func (a *calls) ownersChat(ctx context.Context, near sessions.Route) (sessions.Route, error) {
	there, err := a.by.Routes.Find(ctx, a.by.Composer.Settings(), outbound.Proactive{Channel: near.Channel, Account: near.Account, To: outbound.ToOwner})
	if _, nobody := errors.AsType[*request.Error](err); nobody {
		return sessions.Route{}, nil
	}
	if err != nil {
		return sessions.Route{}, fmt.Errorf("find owner: %w", err)
	}
	return there, nil
}

// reasonKept replaces a reason that the session may not learn.
const reasonKept = "it was denied; the reason is above the level of this conversation"
