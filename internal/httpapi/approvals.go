package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"sluice/policy/flow"
	"sluice/router"
	"sluice/router/ledger"
	"sluice/sessions"
)

func (s *Server) approvalRoutes(api huma.API) {
	huma.Register(api, op(http.MethodGet, "/v1/approvals", "list-approvals", "Tool calls that wait for somebody's word, or were decided, newest first"), s.approvals)
	huma.Register(api, op(http.MethodGet, "/v1/approvals/{approval}", "get-approval", "Show a tool call, or a message, that waits for somebody's word or was decided"), s.approval)
	huma.Register(api, op(http.MethodPost, "/v1/approvals/{approval}/allow", "allow-approval", "Let a tool call run"), s.decide(true))
	huma.Register(api, op(http.MethodPost, "/v1/approvals/{approval}/deny", "deny-approval", "Refuse a tool call; its model reads the reason"), s.decide(false))
}

// approvalRecord is an approval as programs see it.
type approvalRecord struct {
	ID      ledger.ApprovalID `json:"id"`
	Session sessions.ID       `json:"session"`
	Run     sessions.RunID    `json:"run"`
	Agent   string            `json:"agent"`
	Tool    string            `json:"tool" doc:"empty for a message that is held"`

	Delivery ledger.DeliveryID `json:"delivery,omitempty" doc:"the message that is held, where it is about one"`

	Args    json.RawMessage       `json:"args,omitempty" doc:"the call's arguments"`
	Label   string                `json:"label" doc:"of the arguments"`
	Status  ledger.ApprovalStatus `json:"status" enum:"pending,allowed,used,denied"`
	Why     string                `json:"why,omitempty" doc:"it has to be decided about; absent: the agent's permission mode says so"`
	Reason  string                `json:"reason,omitempty"`
	By      string                `json:"by,omitempty" doc:"who has decided"`
	Created time.Time             `json:"created"`
	Expires time.Time             `json:"expires" doc:"undecided, it is denied then, or allowed where its rule says so"`
	Decided *time.Time            `json:"decided,omitempty"`

	Rules     []string   `json:"rules,omitempty" doc:"the rules and checks that ask"`
	Approvers [][]string `json:"approvers,omitempty" doc:"who may decide: somebody who is in each of these lists, of which an empty one stands for the owners; absent: the owners"`
	OnTimeout string     `json:"on_timeout" enum:"block,allow" doc:"what nobody's word in time means"`
}

// approvalOf is an approval as the caller may see it: a reason may have been given where more may be said.
func approvalOf(who caller, p ledger.Approval) approvalRecord {
	r := approvalRecord{
		ID: p.ID, Session: p.Session, Run: p.Run, Agent: p.Agent, Tool: p.Tool, Delivery: p.Delivery, Label: p.Label.String(),
		Status: p.Status, Why: p.Why, Reason: who.quotes().Or(p.Reason, "it may not be shown to you"), By: p.By, Created: p.Created.UTC(), Expires: p.Expires.UTC(),
	}
	for _, who := range p.Terms.Approvers {
		r.Approvers = append(r.Approvers, emptyNotNil(who))
	}
	r.Rules, r.OnTimeout = p.Terms.Rules, "block"
	if p.Terms.Lapse {
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

func (s *Server) approvals(ctx context.Context, in *struct {
	Status  string `query:"status" enum:"pending,allowed,used,denied,all" default:"pending"`
	Session string `query:"session" doc:"a session's id"`
	PageQuery
},
) (*page[approvalList], error) {
	status, bound := in.Status, newBound()
	if status == "all" {
		status = ""
	}
	found, err := s.cfg.Store.ListApprovals(ctx, ledger.Query{MaxLevel: callerOf(ctx).Level, Status: status, Session: sessions.ID(in.Session), Limit: in.Limit, After: in.After, Bound: bound})
	if err != nil {
		return nil, s.problem(err)
	}
	out := approvalList{Approvals: []approvalRecord{}}
	for _, p := range found {
		if in.Status == string(ledger.ApprovalPending) && !p.Expires.After(s.cfg.Now()) {
			continue // too late, and its run has not noticed yet
		}
		out.Approvals = append(out.Approvals, approvalOf(callerOf(ctx), p))
	}
	return &page[approvalList]{next(ctx, bound, lastOf(found, func(p ledger.Approval) string { return string(p.ID) })), out}, nil
}

// ApprovalPath names an approval. It is exported because the API library sees no fields of embedded types that are not.
type ApprovalPath struct {
	Approval string `path:"approval" maxLength:"64"`
}

func (s *Server) approval(ctx context.Context, in *ApprovalPath) (*body[approvalRecord], error) {
	p, err := s.findApproval(ctx, in.Approval)
	if err != nil {
		return nil, err
	}
	return &body[approvalRecord]{approvalOf(callerOf(ctx), p)}, nil
}

// findApproval is an approval that the caller may know of.
func (s *Server) findApproval(ctx context.Context, id string) (ledger.Approval, error) {
	p, err := s.cfg.Store.Approval(ctx, ledger.ApprovalID(id))
	return p, s.visible(ctx, err, object{kind: "approval", id: string(p.ID), label: p.Label}, p.Session)
}

type decideInput struct {
	ApprovalPath
	Body *struct {
		Reason string `json:"reason,omitempty" maxLength:"500" doc:"of a denial"`
	}
}

// decider is the caller as one who decides: the gateway's own token stands for an owner, a named one for itself alone.
func (s *Server) decider(ctx context.Context) router.Verdict {
	who := callerOf(ctx)
	return router.Verdict{Actor: who.actor(), Owner: who.Name == "", Token: s.token(who)}
}

// token is a caller's named token; nil for the gateway's own.
func (s *Server) token(who caller) *router.Token {
	if who.Name == "" {
		return nil
	}
	return &router.Token{Principal: s.principal(who), Level: who.Level, Operator: who.Role == RoleOperator}
}

func (s *Server) decide(allow bool) func(ctx context.Context, in *decideInput) (*body[approvalRecord], error) {
	return func(ctx context.Context, in *decideInput) (*body[approvalRecord], error) {
		v := s.decider(ctx)
		v.Allow = allow
		if in.Body != nil {
			label, err := said(ctx, "")
			if err != nil {
				return nil, err
			}
			v.Reason = flow.NewText(in.Body.Reason, label)
		}
		p, err := s.findApproval(ctx, in.Approval)
		if err != nil {
			return nil, err
		}
		p, err = s.cfg.Router.DecideApproval(ctx, p.ID, v)
		if err != nil {
			return nil, s.problem(err)
		}
		return &body[approvalRecord]{approvalOf(callerOf(ctx), p)}, nil
	}
}
