package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"sluice/policy"
	"sluice/router/decider"
	"sluice/router/ledger"
	"sluice/router/request"
	"sluice/sessions"
)

// Always allows a waiting call, and stores a rule that allows all calls like it. args is a pattern of the arguments, see
// [policy.ArgsMatch]; empty: exactly those of this call. With preview, nothing is stored. Only an owner may do this. The
// errors are those of [Approvals.DecideApproval].
func (d *Approvals) Always(ctx context.Context, id ledger.ApprovalID, v decider.Verdict, args json.RawMessage, preview bool) (ledger.AllowRule, ledger.Approval, error) {
	for range decideTries {
		rule, change, p, err := d.AlwaysChange(ctx, id, v, args)
		if err != nil || preview {
			return rule, p, err
		}
		err = d.Lanes.Commit(ctx, change)
		switch {
		case err == nil:
			return rule, change.Approvals[0].Approval, nil
		case !errors.Is(err, sessions.ErrConflict):
			return rule, p, fmt.Errorf("store a rule: %w", err)
		}
	}
	return ledger.AllowRule{}, ledger.Approval{}, fmt.Errorf("always allow %s: somebody else changed it at every attempt: %w", id, sessions.ErrConflict)
}

// AlwaysChange is the rule and the change of [Approvals.Always]. Until the caller stores the change, nothing is decided.
func (d *Approvals) AlwaysChange(ctx context.Context, id ledger.ApprovalID, v decider.Verdict, args json.RawMessage) (ledger.AllowRule, ledger.Change, ledger.Approval, error) {
	v.Allow = true
	change, p, err := d.Verdict(ctx, id, v)
	if err != nil {
		return ledger.AllowRule{}, ledger.Change{}, p, err
	}
	rule, err := d.ruleOf(p, v, args)
	if err != nil {
		return rule, ledger.Change{}, p, err
	}
	if all, err := d.Store.ListAllowRules(ctx); err != nil {
		return rule, ledger.Change{}, p, fmt.Errorf("read rules that always allow calls: %w", err)
	} else if len(all) >= ledger.AllowRulesMax {
		return rule, ledger.Change{}, p, &request.Error{Text: fmt.Sprintf("there are already %d rules that always allow calls, the maximum: end one first", len(all))}
	}
	change.AllowRules = []ledger.AllowRule{rule}
	change.Audit = append(change.Audit, audited("allow_rule.add", rule, v.Actor, rule.Created))
	return rule, change, p, nil
}

// ruleOf returns a rule for calls like the one in the question.
func (d *Approvals) ruleOf(p ledger.Approval, v decider.Verdict, args json.RawMessage) (ledger.AllowRule, error) {
	if !v.Owner {
		return ledger.AllowRule{}, &decider.NotApproverError{Actor: v.Actor, Terms: p.Terms, Why: "only an owner can always allow a call"}
	}
	if why := p.NeverAlways(); why != "" {
		return ledger.AllowRule{}, &request.Error{Text: fmt.Sprintf("%s can only be allowed once: %s", p.ID, why)}
	}
	exact, err := policy.ExactArgs(p.Args)
	if err != nil {
		return ledger.AllowRule{}, &request.Error{Text: fmt.Sprintf("%s can only be allowed once, because its arguments can't be compared with those of other calls: args %s", p.ID, err)}
	}
	if len(args) == 0 {
		args = exact
	}
	if err := policy.CheckArgsPattern(args); err != nil {
		return ledger.AllowRule{}, &request.Error{Field: "args", Text: err.Error()}
	}
	if !policy.ArgsMatch(args, p.Args) {
		return ledger.AllowRule{}, &request.Error{Field: "args", Text: "does not match this call: use the same fields, with * where values may differ"}
	}
	return ledger.AllowRule{
		ID: ledger.NewAllowRuleID(), Agent: p.Agent, Tool: p.Tool, Args: args, Terms: p.Terms, Label: p.Label, Approval: p.ID, By: v.Actor, Created: d.Now(),
	}, nil
}

// EndAlways removes a rule: from then on, people are asked again.
func (d *Approvals) EndAlways(ctx context.Context, rule ledger.AllowRule, actor string) error {
	return d.Store.Commit(ctx, ledger.Change{
		EndAllowRules: []string{rule.ID}, Change: sessions.Change{Audit: []sessions.AuditEntry{audited("allow_rule.remove", rule, actor, d.Now())}},
	})
}

func audited(action string, r ledger.AllowRule, actor string, at time.Time) sessions.AuditEntry {
	return sessions.AuditEntry{
		At: at, Actor: actor, Action: action, Object: r.ID, Label: r.Label,
		Detail: struct {
			Agent    string            `json:"agent"`
			Tool     string            `json:"tool"`
			Args     json.RawMessage   `json:"args"`
			Approval ledger.ApprovalID `json:"approval"`
		}{r.Agent, r.Tool, r.Args, r.Approval},
	}
}

// ruleFor returns the rule that answers a question; nil if a person has to decide.
func (d *Approvals) ruleFor(ctx context.Context, p ledger.Approval) (*ruleAnswer, error) {
	if p.NeverAlways() != "" {
		return nil, nil //nolint:nilnil // somebody has to decide
	}
	rules, err := d.Store.AllowRulesOf(ctx, p.Agent, p.Tool)
	if err != nil {
		return nil, fmt.Errorf("read rules that always allow calls: %w", err)
	}
	for _, r := range rules {
		if r.Allows(p) {
			return &ruleAnswer{r}, nil
		}
	}
	return nil, nil //nolint:nilnil // somebody has to decide
}

// ruleAnswer is the answer of a rule to a question.
type ruleAnswer struct{ ledger.AllowRule }

// answer returns the question with the rule's answer.
func (s ruleAnswer) answer(p ledger.Approval, now time.Time) ledger.Approval {
	p.Status, p.Reason, p.By, p.Decided = ledger.ApprovalAllowed, ledger.GatewaySays(""), s.Decider(), now
	return p
}

// entry is the audit entry of the answer.
func (s ruleAnswer) entry(p ledger.Approval) sessions.AuditEntry {
	return p.AuditEntry(ledger.ApprovalAllowed, s.Decider(), ledger.GatewaySays(""), p.Decided)
}
