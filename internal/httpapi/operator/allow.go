package operator

import (
	"context"
	"encoding/json"
	"time"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/router/decider"
	"sluice/router/ledger"
)

// Always keeps the rules that always allow calls.
type Always interface {
	// Always allows a waiting call, and stores a rule for all calls like it. With preview, nothing is stored.
	Always(ctx context.Context, id ledger.ApprovalID, v decider.Verdict, args json.RawMessage, preview bool) (ledger.AllowRule, ledger.Approval, error)
	// EndAlways removes a rule.
	EndAlways(ctx context.Context, rule ledger.AllowRule, actor string) error
}

// AllowRows reads the rules.
type AllowRows interface {
	AllowRule(ctx context.Context, id string) (ledger.AllowRule, error)
	ListAllowRules(ctx context.Context) ([]ledger.AllowRule, error)
}

// AllowAPI serves the rules that always allow calls.
type AllowAPI struct {
	Approvals *ApprovalAPI
	Keeper    Always
	Rows      AllowRows
}

// allowRecord is a rule as programs see it.
type allowRecord struct {
	ID       string            `json:"id"`
	Agent    string            `json:"agent"`
	Tool     string            `json:"tool"`
	Args     json.RawMessage   `json:"args" doc:"pattern of the arguments: * matches any characters, and alone any value"`
	Rules    []string          `json:"rules" doc:"the rules of the configuration whose question it answers; empty: the question of the agent's permission mode"`
	Level    string            `json:"level" doc:"the rule applies in conversations that have learned nothing above this"`
	Approval ledger.ApprovalID `json:"approval" doc:"the approval that it was saved from"`
	By       string            `json:"by"`
	Created  time.Time         `json:"created"`
	YAML     string            `json:"yaml" doc:"the rule as YAML, for people"`
}

func allowOf(r ledger.AllowRule) (allowRecord, error) {
	text, err := r.YAML()
	return allowRecord{
		ID: r.ID, Agent: r.Agent, Tool: r.Tool, Args: r.Args, Rules: view.NotNil(r.Terms.Rules), Level: r.Label.String(), Approval: r.Approval, By: r.By, Created: r.Created.UTC(), YAML: text,
	}, err
}

type alwaysInput struct {
	ApprovalPath
	Body *struct {
		Args    map[string]json.RawMessage `json:"args,omitempty" doc:"pattern of the arguments: the fields of this call, with * where values may differ; default: exactly those of this call"`
		Preview bool                       `json:"preview,omitempty" doc:"only show the rule: nothing is decided or stored"`
	}
}

type alwaysRecord struct {
	Rule     allowRecord    `json:"rule"`
	Approval approvalRecord `json:"approval"`
	Saved    bool           `json:"saved"`
}

// Always allows a call and all calls like it. Only an owner may.
func (a *AllowAPI) Always(ctx context.Context, in *alwaysInput) (*wire.Body[alwaysRecord], error) {
	who := auth.CallerOf(ctx)
	p, err := a.Approvals.find(ctx, in.Approval)
	if err != nil {
		return nil, err
	}
	if !who.Owner() {
		return nil, wire.Forbidden("only an owner can always allow a call: allow it once, or ask the owner")
	}
	var args json.RawMessage
	preview := false
	if in.Body != nil {
		preview = in.Body.Preview
		if len(in.Body.Args) > 0 {
			if args, err = json.Marshal(in.Body.Args); err != nil {
				return nil, wire.Invalid("args: " + err.Error())
			}
		}
	}
	rule, p, err := a.Keeper.Always(ctx, p.ID, a.Approvals.Identity.Verdict(who), args, preview)
	if err != nil {
		return nil, err
	}
	shown, err := allowOf(rule)
	if err != nil {
		return nil, err
	}
	if preview {
		shown.ID = ""
	}
	return wire.NewBody(alwaysRecord{shown, approvalOf(who, p), !preview}), nil
}

type allowList struct {
	Rules []allowRecord `json:"rules"`
}

// List lists the rules, the newest first.
func (a *AllowAPI) List(ctx context.Context, _ *struct{}) (*wire.Body[allowList], error) {
	if err := view.NeedOperator(ctx); err != nil {
		return nil, err
	}
	all, err := a.Rows.ListAllowRules(ctx)
	if err != nil {
		return nil, err
	}
	out := allowList{Rules: []allowRecord{}}
	for _, r := range all {
		if !auth.CallerOf(ctx).Sees(r.Label) {
			continue
		}
		shown, err := allowOf(r)
		if err != nil {
			return nil, err
		}
		out.Rules = append(out.Rules, shown)
	}
	return wire.NewBody(out), nil
}

// End removes a rule: the next call needs approval again. Only an owner may.
func (a *AllowAPI) End(ctx context.Context, in *struct {
	Rule string `path:"rule" maxLength:"64"`
},
) (*struct{}, error) {
	who := auth.CallerOf(ctx)
	rule, err := a.Rows.AllowRule(ctx, in.Rule)
	if err := a.Approvals.Visible.Check(ctx, err, denials.Object{Kind: "rule", ID: in.Rule, Label: rule.Label}); err != nil {
		return nil, err
	}
	if !who.Owner() {
		return nil, wire.Forbidden("only an owner can end a rule that always allows calls")
	}
	return nil, a.Keeper.EndAlways(ctx, rule, who.Actor())
}
