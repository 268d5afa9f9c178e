package operator

import (
	"context"
	"encoding/json"
	"time"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/policy/flow"
	"sluice/router/decider"
	"sluice/router/ledger"
	"sluice/sessions"
)

// Approver decides about what waits for a person.
type Approver interface {
	DecideApproval(ctx context.Context, id ledger.ApprovalID, v decider.Verdict) (ledger.Approval, error)
}

// ApprovalRows reads approvals.
type ApprovalRows interface {
	Approval(ctx context.Context, id ledger.ApprovalID) (ledger.Approval, error)
	ListApprovals(ctx context.Context, q ledger.Query) ([]ledger.Approval, error)
}

// ApprovalAPI serves approvals: tool calls and messages that wait for a person's decision.
type ApprovalAPI struct {
	Visible  *view.Visibility
	Rows     ApprovalRows
	Approver Approver
	Identity view.Identity
	Now      func() time.Time
}

// approvalRecord is an approval as programs see it.
type approvalRecord struct {
	ID      ledger.ApprovalID `json:"id"`
	Session sessions.ID       `json:"session"`
	Run     sessions.RunID    `json:"run"`
	Agent   string            `json:"agent"`
	Channel string            `json:"channel,omitempty" doc:"channel of the conversation that calls the tool, or that the held message is for"`
	Tool    string            `json:"tool" doc:"empty for a held message"`

	Delivery ledger.DeliveryID `json:"delivery,omitempty" doc:"the held message, if it is about one"`

	Args    json.RawMessage       `json:"args,omitempty" doc:"the call's arguments"`
	Label   string                `json:"label" doc:"of the arguments"`
	Status  ledger.ApprovalStatus `json:"status" enum:"pending,allowed,used,denied"`
	Why     string                `json:"why,omitempty" doc:"why it needs a decision; absent: the agent's permission mode asks for it"`
	Reason  string                `json:"reason,omitempty"`
	By      string                `json:"by,omitempty" doc:"who decided"`
	Created time.Time             `json:"created"`
	Expires time.Time             `json:"expires" doc:"without a decision by then, it is denied, or allowed if its rule says so"`
	Decided *time.Time            `json:"decided,omitempty"`

	Rules     []string   `json:"rules,omitempty" doc:"the rules and checks that ask for it"`
	Approvers [][]string `json:"approvers,omitempty" doc:"who may decide: a principal in every one of these lists, where an empty list means the owners; absent: the owners"`
	Always    bool       `json:"always,omitempty" doc:"an owner can save a rule that allows all calls like this one"`
	OnTimeout string     `json:"on_timeout" enum:"block,allow" doc:"what happens without a decision in time"`
}

// approvalOf is an approval as the caller may see it. Its reason may be above the caller's level.
func approvalOf(who auth.Caller, p ledger.Approval) approvalRecord {
	r := approvalRecord{
		ID: p.ID, Session: p.Session, Run: p.Run, Agent: p.Agent, Channel: p.Channel, Tool: p.Tool, Delivery: p.Delivery, Label: p.Label.String(),
		Status: p.Status, Why: p.Why, Reason: who.Quotes().Or(p.Reason, "it is above your level and is not shown"), By: p.By, Created: p.Created.UTC(), Expires: p.Expires.UTC(),
	}
	for _, who := range p.Terms.Approvers {
		r.Approvers = append(r.Approvers, view.NotNil(who))
	}
	r.Rules, r.OnTimeout = p.Terms.Rules, "block"
	r.Always = p.Status == ledger.ApprovalPending && p.NeverAlways() == ""
	if p.Terms.AllowOnTimeout {
		r.OnTimeout = "allow"
	}
	if json.Valid(p.Args) {
		r.Args = p.Args
	}
	if !p.Decided.IsZero() {
		at := p.Decided.UTC()
		r.Decided = &at
	}
	return r
}

type approvalList struct {
	Approvals []approvalRecord `json:"approvals"`
}

// List lists approvals: by default the pending ones, soonest to expire first.
func (a *ApprovalAPI) List(ctx context.Context, in *struct {
	Status  string `query:"status" enum:"pending,allowed,used,denied,all" default:"pending"`
	Kind    string `query:"kind" enum:"call,message" doc:"calls of tools, or held messages; without it both"`
	Channel string `query:"channel" maxLength:"64" doc:"a channel, for example telegram"`
	Session string `query:"session" doc:"a session's id"`
	view.PageQuery
},
) (*view.Page[approvalList], error) {
	status, bound := in.Status, view.NewBound()
	var unexpired time.Time
	if in.Status == string(ledger.ApprovalPending) {
		unexpired = a.Now() // one that has expired is decided, although its run has not noticed yet
	}
	if status == "all" {
		status = ""
	}
	found, err := a.Rows.ListApprovals(ctx, ledger.Query{
		MaxLevel: auth.CallerOf(ctx).Level, Status: status, Channel: in.Channel, Session: sessions.ID(in.Session), QueryFilter: ledger.QueryFilter{Kind: in.Kind},
		Limit: in.Limit, After: in.After, Bound: bound, Unexpired: unexpired,
	})
	if err != nil {
		return nil, err
	}
	out := approvalList{Approvals: []approvalRecord{}}
	for _, p := range found {
		out.Approvals = append(out.Approvals, approvalOf(auth.CallerOf(ctx), p))
	}
	return view.NewPage(view.NextLink(ctx, bound, view.LastID(found, func(p ledger.Approval) string { return string(p.ID) })), out), nil
}

// ApprovalPath names an approval. It is exported because the API library only sees fields of exported embedded types.
type ApprovalPath struct {
	Approval string `path:"approval" maxLength:"64"`
}

// Get answers with an approval.
func (a *ApprovalAPI) Get(ctx context.Context, in *ApprovalPath) (*wire.Body[approvalRecord], error) {
	p, err := a.find(ctx, in.Approval)
	if err != nil {
		return nil, err
	}
	return wire.NewBody(approvalOf(auth.CallerOf(ctx), p)), nil
}

// find is an approval that the caller may know of.
func (a *ApprovalAPI) find(ctx context.Context, id string) (ledger.Approval, error) {
	p, err := a.Rows.Approval(ctx, ledger.ApprovalID(id))
	return p, a.Visible.Check(ctx, err, denials.Object{Kind: "approval", ID: string(p.ID), Label: p.Label}, p.Session)
}

type decideInput struct {
	ApprovalPath
	Body *struct {
		Reason string `json:"reason,omitempty" maxLength:"500" doc:"of a denial"`
	}
}

// Decide is the handler that allows or denies.
func (a *ApprovalAPI) Decide(allow bool) func(ctx context.Context, in *decideInput) (*wire.Body[approvalRecord], error) {
	return func(ctx context.Context, in *decideInput) (*wire.Body[approvalRecord], error) {
		who := auth.CallerOf(ctx)
		v := a.Identity.Verdict(who)
		v.Allow = allow
		if in.Body != nil {
			label, err := who.InputLabel("")
			if err != nil {
				return nil, err
			}
			v.Reason = flow.NewText(in.Body.Reason, label)
		}
		p, err := a.find(ctx, in.Approval)
		if err != nil {
			return nil, err
		}
		p, err = a.Approver.DecideApproval(ctx, p.ID, v)
		if err != nil {
			return nil, err
		}
		return wire.NewBody(approvalOf(who, p)), nil
	}
}
