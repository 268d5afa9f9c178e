package config

import (
	"strings"

	"sluice/policy"
	"sluice/policy/flow"
)

// Policy is what sessions may learn, and the configured rules.
type Policy struct {
	Escalation string     `yaml:"escalation" enum:"ask,auto,deny" doc:"When a session is about to learn more than may be said where it speaks: ask an owner, let it, refuse it."`
	Clearance  flow.Level `yaml:"clearance" doc:"The highest level that an owner's session may reach; sessions that are there keep theirs until /new."`
	Rules      []Rule     `yaml:"rules" doc:"Rules. They can only tighten what the fixed checks allow; the strictest that applies counts, whatever their order."`
}

// Rule is one rule.
type Rule struct {
	Name      string   `yaml:"name" doc:"Required. Decisions, the audit trail and errors show it as policy.rules.<name>."`
	Hook      string   `yaml:"hook" enum:"PRE_CONTEXT_INJECTION,PRE_TOOL_CALL,POST_TOOL_RESPONSE,PRE_OUTPUT,SECRET_ACCESS,SESSION_RESET,AGENT_INVOCATION,MCP_TOOL_CALL" doc:"Required. Where it is asked: before a text enters a session, a tool runs, its answer is read, a text leaves, a secret is used, a session is replaced, another session gets work, a tool of an MCP server runs."`
	Tools     []string `yaml:"tools" doc:"Names of tools that it is about, or patterns with *. Default: every tool."`
	When      string   `yaml:"when" doc:"When it applies: a CEL expression over the input that docs/policy.md describes. Default: always."`
	Action    string   `yaml:"action" enum:"block,redact,require_approval" doc:"Required. What then happens: it is stopped, what matches redact is taken out, it waits for a person's word."`
	Message   string   `yaml:"message" doc:"Why, for the operator and, about a call, for the model. Default: that the rule says so."`
	Redact    string   `yaml:"redact" doc:"With action redact: what is taken out, a regular expression (RE2)."`
	Approvers []string `yaml:"approvers" doc:"With require_approval: who may allow it, each <channel>:<user id>. Default: the owners."`
	Timeout   Duration `yaml:"timeout,omitempty" doc:"With require_approval: how long it waits. Default: 10m."`
	OnTimeout string   `yaml:"onTimeout" enum:"block,allow" doc:"With require_approval: what nobody's word in time means. Default: block."`
	Rate      Rate     `yaml:"rate,omitempty" doc:"Lets the rule apply only to what goes beyond a rate."`
}

// Rate is how often something may happen before a rule applies to it.
type Rate struct {
	Limit int      `yaml:"limit" min:"1" max:"10000" doc:"Required. So often it does not apply."`
	Per   Duration `yaml:"per" doc:"Required. In each time of this length."`
	By    string   `yaml:"by" enum:"session,agent,tool,user,conversation" doc:"Counted apart for each. Default: all together."`
}

// actions are the words for what rules do.
var actions = map[string]policy.Action{"block": policy.Block, "allow": policy.Allow, "redact": policy.Redact, "require_approval": policy.Hold}

// PolicyRules are the rules as [policy.NewRules] takes them.
func (p Policy) PolicyRules() []policy.Rule {
	rules := make([]policy.Rule, len(p.Rules))
	for i, r := range p.Rules {
		rules[i] = policy.Rule{
			Name: r.Name, Hook: r.hook(), Tools: r.Tools, When: r.When, Action: actions[r.Action], Message: r.Message,
			Redact: r.Redact, Approvers: r.Approvers, Timeout: r.Timeout.Std(), OnTimeout: actions[r.OnTimeout],
		}
		if r.Rate != (Rate{}) {
			rules[i].Rate = &policy.Rate{Limit: r.Rate.Limit, Per: r.Rate.Per.Std(), By: policy.RateBy(r.Rate.By)}
		}
	}
	return rules
}

// hook may be written in any case, as levels may.
func (r Rule) hook() policy.Hook { return policy.Hook(strings.ToUpper(r.Hook)) }
