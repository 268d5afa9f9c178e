package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// redacted stands where something was taken out.
const redacted = "[redacted]"

// nothingThere is said of a rule that redacts and applies to a text in which its pattern finds nothing.
const nothingThere = "there is nothing to redact"

// Rules are the configured rules, ready to be asked. They are safe for concurrent use.
type Rules struct {
	byHook map[Hook][]*asked
}

// asked is a rule in its place.
type asked struct {
	*checked
	name    string // as decisions show it
	counted *counter
}

// NewRules compiles rules. Its error joins a [RuleError] for each fault.
func NewRules(rules []Rule) (*Rules, error) {
	set := &Rules{byHook: map[Hook][]*asked{}}
	var faults []error
	for i, r := range rules {
		if slices.ContainsFunc(rules[:i], func(other Rule) bool { return other.Name == r.Name && r.Name != "" }) {
			faults = append(faults, &RuleError{i, "name", fmt.Errorf("%q: two rules have this name", r.Name)})
		}
		c, wrong := compile(i, r)
		faults = append(faults, wrong...)
		set.byHook[r.Hook] = append(set.byHook[r.Hook], &asked{checked: c, name: "policy.rules." + r.Name, counted: &counter{}})
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return set, nil
}

// Continue goes on counting where other rules are: for each rule that stands there with the same name, hook and rate.
// It is for rules that nobody asks yet; the others may be asked meanwhile, and afterwards.
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

// Decide asks all rules of the input's hook that are about its tool and adds to the decision what
// each says. The strictest counts: block, then hold, then redact. Without effects nothing is counted for a rate.
// A rule that can't be evaluated applies.
func (r *Rules) Decide(in *Input, d *Decision, effects bool) {
	if !in.Hook.known() {
		d.tighten(Block, "unknown hook "+string(in.Hook)+": its possible actions are unknown")
		return
	}
	rules := r.of(in.Hook)
	if len(rules) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), conditionDeadline)
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

// ask adds what one rule says.
func (a *asked) ask(ctx context.Context, in *Input, vars map[string]any, d *Decision, effects bool) {
	ask := a.when.holds
	if in.Partial {
		ask = a.when.mayHold
	}
	holds, err := ask(ctx, vars)
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
		action = Block // nobody knows what would have to be taken out
	}
	if holds && action == Redact {
		d.redact = append(d.redact, a.redact) // whatever is there now: others may yet change the text
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
		reason = "rule " + a.Name + " says so"
	}
	switch action {
	case Redact:
		d.takes = true
	case Hold:
		d.hold(a.name, a.Rule)
	}
	d.tighten(action, reason)
}
