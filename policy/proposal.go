package policy

import (
	"cmp"

	"sluice/policy/flow"
)

// Proposal is a policy for a backtest: rules that are added to the configured ones, and a send policy that replaces the
// configured one; nil: the configured one stays. It belongs to one backtest, because its rates count.
type Proposal struct {
	Rules *Rules
	Send  *SendPolicy
}

// Output is what the proposal decides about an outgoing text for a place of a level: the send policy first, then the
// rules.
func (p Proposal) Output(e Egress, sink flow.Level) Decision {
	d := Decision{Action: Allow, Reason: "nothing in the proposal applies"}
	if p.Send != nil && e.Kind != KindNotice && e.Kind != KindCommand {
		p.Send.decide(&e, &d)
	}
	in := e.input(sink)
	p.Rules.Decide(&in, &d, true)
	return d
}

// Call is what the proposal decides about a tool call. Its input has no [ToolInput.Reads], Writes, Sink and Server.
func (p Proposal) Call(in Input) Decision {
	d := Decision{Action: Allow, Reason: "nothing in the proposal applies"}
	in.Hook = PreToolCall
	p.Rules.Decide(&in, &d, true)
	return d
}

// Hooks lists the hooks that have rules.
func (r *Rules) Hooks() (hooks []Hook) {
	for _, h := range Hooks() {
		if len(r.of(h)) > 0 {
			hooks = append(hooks, h)
		}
	}
	return hooks
}

// ListedRule is a rule as operators see it: of the send policy (Match) or a configured one (Rule).
type ListedRule struct {
	Name   string // as decisions show it
	Action Action
	Match  *SendMatch // nil: a configured rule
	Rule   Rule
}

// Narrow reports whether the rule matches on more than a channel and a kind of chat.
func (r ListedRule) Narrow() bool {
	return r.Match != nil && *r.Match != (SendMatch{Channel: r.Match.Channel, ChatType: r.Match.ChatType})
}

// Listed lists the rules in the order in which they are evaluated.
func (g *Gate) Listed() (all []ListedRule) {
	for _, group := range []struct {
		rules  []compiledRule
		action Action
	}{{g.send.deny, Block}, {g.send.allow, Allow}} {
		for i := range group.rules {
			all = append(all, ListedRule{Name: group.rules[i].name, Action: group.action, Match: &group.rules[i].match})
		}
	}
	all = append(all, ListedRule{Name: sendDefault, Action: cmp.Or(g.send.byDefault, Allow), Match: &SendMatch{}})
	return append(all, g.rules.Listed()...)
}

// Listed lists the rules by their hooks.
func (r *Rules) Listed() (all []ListedRule) {
	for _, hook := range Hooks() {
		for _, one := range r.of(hook) {
			all = append(all, ListedRule{Name: one.name, Action: one.Action, Rule: one.Rule})
		}
	}
	return all
}
