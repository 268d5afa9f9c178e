package router

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/sessions"
)

// tooLate is what a model reads of a call that nobody decided about.
const tooLate = "nobody approved it in time"

// otherTerms is what a model reads of a call for which others may have to decide since somebody was asked.
const otherTerms = "who has to approve it has changed since somebody was asked; call it again, so that it can be decided anew"

// learntSince is what a model reads of a call whose session has learnt something since somebody was asked, such as a stranger's file
// that the call would read.
const learntSince = "the conversation has learnt more since somebody was asked; call it again, so that it can be decided anew"

// ErrAwaited: a tool call waits for a person's decision. The run is laid aside, and
// gone on with when there is one.
var ErrAwaited = errors.New("a tool call waits for its approval")

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
	Expires  time.Time // undecided it is denied then, or allowed where Terms.Lapse
	Decided  time.Time // zero while it is pending
}

// ApprovalMove replaces an approval's status, reason, decider and time if its stored status is From; else ErrConflict.
type ApprovalMove struct {
	From     ApprovalStatus
	Approval Approval
}

// Approver has people decide about tool calls. The run's goroutine alone uses it.
type Approver interface {
	// Decide gives what was decided about each call. While that is awaited of one
	// of them it is [ErrAwaited], with which the work must end; what is open then has to
	// be stored. message is the answer that asks for the calls. That an allowed call runs is stored before
	// Decide returns: asked again, it says that the call was interrupted.
	Decide(ctx context.Context, message sessions.MessageID, calls []sessions.CallToConfirm) ([]sessions.Confirmation, error)
	// Denied gives those of the calls that were asked about before and denied. Nobody is asked.
	Denied(ctx context.Context, message sessions.MessageID, calls []sessions.Part) ([]sessions.Confirmation, error)
}

// approver is that of one run.
type approver struct {
	w   *sessionWorker
	job *job
	run *sessions.Run
}

var _ Approver = (*approver)(nil)

// Decide implements [Approver].
func (a *approver) Decide(ctx context.Context, message sessions.MessageID, calls []sessions.CallToConfirm) ([]sessions.Confirmation, error) {
	asked, err := a.asked(ctx, message, calls)
	if err != nil {
		return nil, err
	}
	now := a.w.now()
	var next time.Time // when one of them is too late
	var change Change
	confirmations := make([]sessions.Confirmation, len(calls))
	for i, p := range asked {
		stored, c := p.Status, &confirmations[i]
		if to, reason := p.byItself(calls[i].Terms, a.job.session.Taint(), now); to != "" {
			change.Audit = append(change.Audit, p.decided(to, byGateway, gatewaySays(reason), now))
			p.Status, p.Reason, p.By, p.Decided = to, gatewaySays(reason), byGateway, now
		}
		*c = a.denial(p)
		switch {
		case p.Status == ApprovalUsed:
			*c = sessions.Interrupted(p.CallID)
		case p.Status == ApprovalAllowed:
			c.Approved, p.Status = true, ApprovalUsed
		case p.Status == ApprovalPending && (next.IsZero() || p.Expires.Before(next)):
			next = p.Expires
		}
		if p.Status != stored {
			change.Approvals = append(change.Approvals, ApprovalMove{From: stored, Approval: p})
		}
	}
	if !next.IsZero() {
		a.job.aside = max(next.Sub(now), time.Millisecond)
		return nil, ErrAwaited
	}
	if len(change.Approvals) > 0 {
		if err := a.w.store.Commit(ctx, change); err != nil {
			return nil, fmt.Errorf("store approvals: %w", err)
		}
	}
	return confirmations, nil
}

// byItself is what becomes of an approval without anybody's word: it counts only for the terms under which it was asked for, for
// what its session had learnt by then, and not for longer than that. Empty: nothing.
func (p Approval) byItself(terms sessions.Terms, taint flow.Label, now time.Time) (to ApprovalStatus, reason string) {
	switch {
	case p.Status != ApprovalPending && p.Status != ApprovalAllowed:
		return "", ""
	case !p.Terms.Same(terms):
		return ApprovalDenied, otherTerms
	case p.Label != taint:
		return ApprovalDenied, learntSince
	case p.Status == ApprovalAllowed, p.Expires.After(now):
		return "", ""
	case p.Terms.Lapse:
		return ApprovalAllowed, ""
	}
	return ApprovalDenied, tooLate
}

// Denied implements [Approver].
func (a *approver) Denied(ctx context.Context, message sessions.MessageID, calls []sessions.Part) (denied []sessions.Confirmation, err error) {
	for _, call := range calls {
		p, err := a.w.store.Approval(ctx, approvalID(a.run.Session, message, call.CallID))
		switch {
		case errors.Is(err, sessions.ErrNotFound):
		case err != nil:
			return nil, fmt.Errorf("read approval: %w", err)
		case p.Status == ApprovalDenied:
			denied = append(denied, a.denial(p))
		}
	}
	return denied, nil
}

// gatewaySays is a reason that the gateway gives by itself: one of a few sentences that tell nothing.
func gatewaySays(reason string) flow.Text { return flow.NewText(reason, noticeLabel()) }

// reasonKept stands in place of a reason that the session may not learn.
const reasonKept = "it was denied, for a reason that may not be said in this conversation"

// denial is a call's refusal as its session may read it: a reason is learnt like anything else that is said to the session, and left out where the
// session may not learn it or could not speak any more in its own conversation.
func (a *approver) denial(p Approval) sessions.Confirmation {
	record, route := a.job.session.Record(), a.run.Route
	if route.IsZero() {
		route = record.Route
	}
	may := record.Clearance
	if !a.w.monitor.MayRise(record, route, p.Reason.Label()) {
		may = record.Taint.Level()
	}
	quotes := policy.NewQuotation(may)
	reason := quotes.Or(p.Reason, reasonKept)
	return sessions.Confirmation{CallID: p.CallID, Reason: reason, Label: quotes.Label()}
}

func (p Approval) move(to ApprovalStatus, reason flow.Text, by string, at time.Time) ApprovalMove {
	m := ApprovalMove{From: p.Status, Approval: p}
	m.Approval.Status, m.Approval.Reason, m.Approval.By, m.Approval.Decided = to, reason, by, at
	return m
}

// decided is the entry of the audit trail about a decision; silence decides by the gateway.
func (p Approval) decided(to ApprovalStatus, by string, reason flow.Text, at time.Time) sessions.AuditEntry {
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

// asked are the approvals of the calls. Those that are not there yet are stored, each with the question about it.
func (a *approver) asked(ctx context.Context, message sessions.MessageID, calls []sessions.CallToConfirm) ([]Approval, error) {
	asked := make([]Approval, len(calls))
	var change Change
	for i, call := range calls {
		id := approvalID(a.run.Session, message, call.CallID)
		p, err := a.w.store.Approval(ctx, id)
		switch {
		case errors.Is(err, sessions.ErrNotFound):
			p = a.newApproval(id, call)
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
	if err := a.w.commit(ctx, change); err != nil {
		return nil, fmt.Errorf("ask for approval: %w", err)
	}
	return asked, nil
}

func approvalID(session sessions.ID, message sessions.MessageID, call string) ApprovalID {
	return approvalNamed(string(session), string(message), call)
}

// approvalNamed makes the id of what is told from all else by some names.
func approvalNamed(names ...string) ApprovalID {
	sum := sha256.Sum256([]byte(strings.Join(names, "\x00")))
	return ApprovalID("apr_" + hex.EncodeToString(sum[:6]))
}

func (a *approver) newApproval(id ApprovalID, call sessions.CallToConfirm) Approval {
	now := a.w.now()
	return Approval{
		Why: call.Why, Terms: call.Terms,
		ID: id, Session: a.run.Session, Run: a.run.ID, Agent: a.job.record.Agent, CallID: call.CallID, Tool: call.Tool, Args: call.Args,
		Label: a.job.session.Taint(), Status: ApprovalPending, Created: now, Expires: now.Add(cmp.Or(call.Terms.Timeout, policy.ApprovalTimeout)),
	}
}

// question asks about a call: those whom a rule names in their own chats, else an owner, in the run's conversation where an
// owner may be in it, or in an owner's own. Where there is neither, the call is only listed.
func (a *approver) question(ctx context.Context, p Approval) ([]Delivery, error) {
	s := a.w.settings.Load()
	route := a.run.Route
	if route.IsZero() {
		route = a.job.record.Route
	}
	if parent := a.job.record.SpawnedBy; route.IsZero() && parent != "" {
		record, err := a.w.store.Session(ctx, parent)
		if err != nil && !errors.Is(err, sessions.ErrNotFound) {
			return nil, fmt.Errorf("read requester of sub-agent: %w", err)
		}
		route = record.Route
	}
	if slices.ContainsFunc(p.Terms.Approvers, func(list []string) bool { return len(list) > 0 }) {
		return a.w.askDeciders(ctx, p, route.Channel, questionText(p), bareQuestion(p))
	}
	if route.ChatType == sessions.Direct && !a.run.Input.Owner {
		there, err := a.w.proactiveRoute(ctx, s, Proactive{Channel: route.Channel, Account: route.Account, To: toOwner})
		if _, nobody := errors.AsType[*RequestError](err); nobody {
			route = sessions.Route{}
		} else if err != nil {
			return nil, fmt.Errorf("find owner: %w", err)
		} else {
			route = there
		}
	}
	if route.IsZero() {
		a.w.log.Warn("nobody can be asked about a tool call; sluice approvals list shows it", "approval", string(p.ID), "session", string(p.Session))
		return nil, nil
	}
	d := a.w.newDelivery(s, KindNotice, route, questionText(p), p.Label)
	d.Session, d.Run = p.Session, p.Run
	d.askAbout(p.ID)
	return []Delivery{d}, nil
}

// layAside gives up a run that waits for a decision: it stays running, and whoever looks at the session next goes on with it.
func (w *sessionWorker) layAside(j *job) error {
	w.log.Info("run waits for an approval", "run", string(j.batch[0].ID), "session", string(w.id))
	return w.handBack(j.batch, ErrAwaited)
}
