package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// RulePrefix begins the name of a configured rule in decisions.
const RulePrefix = "policy.rules."

// redacted replaces removed text.
const redacted = "[redacted]"

// nothingThere is the reason of a rule that redacts and applies to a text without a match of its pattern.
const nothingThere = "there is nothing to redact"

// conditionsDeadline bounds one decision. A rule whose condition is undecided then applies.
const conditionsDeadline = 100 * time.Millisecond

// Condition is the compiled condition of a rule, over the variables of an input. An error says why it could not be evaluated.
type Condition interface {
	Holds(ctx context.Context, vars map[string]any) (bool, error)
	// MayHold reports whether it holds, or might for another text.
	MayHold(ctx context.Context, vars map[string]any) (bool, error)
}

// Rules are the compiled rules. They are safe for concurrent use.
type Rules struct {
	byHook map[Hook][]*asked
}

// asked is a rule with its position.
type asked struct {
	*checked
	name    string // as decisions show it
	counted *counter
}

// NewRules compiles rules, and their conditions with a function (package condition has it for CEL). Its error joins a
// [RuleError] per fault.
func NewRules(rules []Rule, condition func(when string) (Condition, error)) (*Rules, error) {
	set := &Rules{byHook: map[Hook][]*asked{}}
	var faults []error
	for i, r := range rules {
		if slices.ContainsFunc(rules[:i], func(other Rule) bool { return other.Name == r.Name && r.Name != "" }) {
			faults = append(faults, &RuleError{i, "name", fmt.Errorf("%q: two rules have this name", r.Name)})
		}
		c, wrong := compile(i, r, condition)
		faults = append(faults, wrong...)
		set.byHook[r.Hook] = append(set.byHook[r.Hook], &asked{checked: c, name: RulePrefix + r.Name, counted: &counter{}})
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return set, nil
}

// Continue copies the counts of earlier rules: for each rule with the same position, name, hook and rate. The new
// rules must not be in use yet; the earlier ones may be, during and after the call.
func (r *Rules) Continue(before *Rules) {
	for hook, rules := range r.byHook {
		for _, rule := range rules {
			same := func(other *asked) bool {
				return rule.Rate != nil && other.Rate != nil && *other.Rate == *rule.Rate && other.name == rule.name
			}
			if i := slices.IndexFunc(before.of(hook), same); i >= 0 {
				rule.counted = before.of(hook)[i].counted
			}
		}
	}
}

// Decide evaluates all rules of the input's hook that apply to its tool and adds the results to the decision. The
// strictest applies: block, then hold, then redact. Without effects no rate is counted. A rule that can't be
// evaluated applies.
func (r *Rules) Decide(in *Input, d *Decision, effects bool) {
	if !in.Hook.known() {
		d.tighten(Block, "unknown hook "+string(in.Hook)+": its possible actions are unknown")
		return
	}
	rules := r.of(in.Hook)
	if len(rules) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), conditionsDeadline)
	defer cancel()
	vars := in.variables()
	for _, rule := range rules {
		if rule.about(in.Tool.Name) {
			rule.ask(ctx, in, vars, d, effects)
		}
	}
}

func (r *Rules) of(h Hook) []*asked {
	if r == nil {
		return nil
	}
	return r.byHook[h]
}

// holds evaluates the rule's condition. Without one the rule always applies.
func (a *asked) holds(ctx context.Context, partial bool, vars map[string]any) (bool, error) {
	switch {
	case a.when == nil:
		return true, nil
	case partial:
		return a.when.MayHold(ctx, vars)
	}
	return a.when.Holds(ctx, vars)
}

// ask adds the result of one rule.
func (a *asked) ask(ctx context.Context, in *Input, vars map[string]any, d *Decision, effects bool) {
	holds, err := a.holds(ctx, in.Partial, vars)
	detail := ""
	if err != nil {
		holds, detail = true, "could not be evaluated, so it applies: "+err.Error()
	}
	if holds && err == nil && a.Rate != nil {
		holds = a.counted.over(a.Rate, in, effects)
		detail = fmt.Sprintf("at most %d in %s", a.Rate.Limit, a.Rate.Per)
	}
	action := a.Action
	if err != nil && action == Redact {
		action = Block // it is unknown what would have to be redacted
	}
	if holds && action == Redact {
		d.redact = append(d.redact, a.redact) // added even without a match: others may still change the text
		if !in.Partial && !slices.ContainsFunc(in.redactable(), a.takesOut) {
			action, detail = Allow, nothingThere
		}
	}
	d.addCheck(a.name, holds, action, detail)
	if !holds || action == Allow {
		return
	}
	reason := a.Message
	if reason == "" {
		reason = "rule " + a.Name + " applies"
	}
	switch action {
	case Redact:
		d.takes = true
	case Hold:
		d.hold(a.name, a.Rule)
	}
	d.tighten(action, reason)
}
