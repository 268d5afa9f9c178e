package config

import (
	"strings"

	"sluice/policy"
	"sluice/policy/flow"
)

// Policy limits what sessions may learn, and has the configured rules.
type Policy struct {
	Escalation string     `yaml:"escalation" enum:"ask,auto,deny" doc:"What happens when a session is about to learn something above the level of its conversation. ask: an owner is asked. auto: the session learns it. deny: the read is refused."`
	Clearance  flow.Level `yaml:"clearance" doc:"Highest level that an owner's session may reach. Existing sessions keep theirs until /new."`
	Rules      []Rule     `yaml:"rules" doc:"Rules. They can only restrict what the fixed checks allow. The strictest match applies, whatever their order."`
}

// Rule is one rule.
type Rule struct {
	Name      string   `yaml:"name" doc:"Required. Decisions, the audit trail and errors show it as policy.rules.<name>."`
	Hook      string   `yaml:"hook" enum:"PRE_CONTEXT_INJECTION,PRE_TOOL_CALL,POST_TOOL_RESPONSE,PRE_OUTPUT,SECRET_ACCESS,SESSION_RESET,AGENT_INVOCATION,MCP_TOOL_CALL" doc:"Required. When the rule is evaluated: before a text enters a session, a tool runs, its result is read, a text is sent, a secret is used, a session is replaced, another session gets work, or a tool of an MCP server runs."`
	Tools     []string `yaml:"tools" doc:"Tools that the rule applies to: names, or patterns with *. Default: every tool."`
	When      string   `yaml:"when" doc:"When the rule applies: a CEL expression over the input described in docs/policy.md. Default: always."`
	Action    string   `yaml:"action" enum:"block,redact,require_approval" doc:"Required. block: stop it. redact: remove what redact matches. require_approval: wait for a person's decision."`
	Message   string   `yaml:"message" doc:"The reason, for the operator and, for a call, for the model. Default: that the rule applies."`
	Redact    string   `yaml:"redact" doc:"For action redact: what to remove, a regular expression (RE2)."`
	Approvers []string `yaml:"approvers" doc:"For require_approval: who may approve, each <channel>:<user id>. Default: the owners."`
	Timeout   Duration `yaml:"timeout,omitempty" doc:"For require_approval: how long to wait. Default: 10m."`
	OnTimeout string   `yaml:"onTimeout" enum:"block,allow" doc:"For require_approval: what happens if nobody decides in time. Default: block."`
	Rate      Rate     `yaml:"rate,omitempty" doc:"The rule applies only above this rate."`
}

// Rate says how often something may happen before a rule applies.
type Rate struct {
	Limit int      `yaml:"limit" min:"1" max:"10000" doc:"Required. Number of matches in the period before the rule applies."`
	Per   Duration `yaml:"per" doc:"Required. Period in which matches are counted."`
	By    string   `yaml:"by" enum:"session,agent,tool,user,conversation" doc:"Counted separately for each. Default: all together."`
}

// actions maps the words of the file to what rules do.
var actions = map[string]policy.Action{"block": policy.Block, "allow": policy.Allow, "redact": policy.Redact, "require_approval": policy.Hold}

// PolicyRules converts the rules for condition.NewRules.
func (p Policy) PolicyRules() []policy.Rule {
	rules := make([]policy.Rule, len(p.Rules))
	for i, r := range p.Rules {
		rules[i] = policy.Rule{
			Name: r.Name, Hook: r.Point(), Tools: r.Tools, When: r.When, Action: actions[r.Action], Message: r.Message,
			Redact: r.Redact, Approvers: r.Approvers, Timeout: r.Timeout.Std(), OnTimeout: actions[r.OnTimeout],
		}
		if r.Rate != (Rate{}) {
			rules[i].Rate = &policy.Rate{Limit: r.Rate.Limit, Per: r.Rate.Per.Std(), By: policy.RateBy(r.Rate.By)}
		}
	}
	return rules
}

// Point is where the rule applies. Its name may have any case, as levels may.
func (r Rule) Point() policy.Hook { return policy.Hook(strings.ToUpper(r.Hook)) }

// Compiled converts the send policy.
func (s SendPolicy) Compiled() (*policy.SendPolicy, error) {
	rules := make([]policy.SendRule, len(s.Rules))
	for i, r := range s.Rules {
		rules[i] = policy.SendRule{Match: policy.SendMatch(r.Match), Action: sendAction(r.Action)}
	}
	return policy.NewSendPolicy(sendAction(s.Default), rules)
}

// sendAction converts a configured action; an unknown one is rejected where it is used.
func sendAction(word string) policy.Action {
	if word == "deny" {
		return policy.Block
	}
	return policy.Action(word)
}
