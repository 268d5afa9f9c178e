package ledger

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/sessions"
)

// AllowRulesMax is the maximum number of rules that always allow calls.
const AllowRulesMax = 500

// byRule begins the name of the decider if a rule has answered the question.
const byRule = "rule:"

// AllowRule allows the calls of a tool that are like one that an owner was asked about, so that nobody is asked again.
// It answers only a question of the same kind: the same rules ask it, the same people may decide, and the conversation
// knows no more than the first one did.
type AllowRule struct {
	ID       string // "alw_" and 12 hex digits
	Agent    string
	Tool     string
	Args     json.RawMessage // a pattern, see [policy.ArgsMatch]
	Terms    sessions.Terms  // of the question
	Label    flow.Label      // of the question
	Approval ApprovalID      // the question
	By       string          // who has said it
	Created  time.Time
}

// NewAllowRuleID returns a random id.
func NewAllowRuleID() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // it never fails
	return "alw_" + hex.EncodeToString(b[:])
}

// Decider is the name of the rule as the one who decided about a call.
func (r AllowRule) Decider() string { return byRule + r.ID }

// Allows reports whether the rule answers a question.
func (r AllowRule) Allows(p Approval) bool {
	return p.NeverAlways() == "" && r.Agent == p.Agent && r.Tool == p.Tool && r.Terms.Same(p.Terms) && r.Terms.Level == p.Terms.Level &&
		slices.Equal(r.Terms.Rules, p.Terms.Rules) && p.Label.Join(r.Label) == r.Label && policy.ArgsMatch(r.Args, p.Args)
}

// NeverAlways says why no rule may answer a question; empty if one may.
func (p Approval) NeverAlways() string {
	switch {
	case p.Delivery != "":
		return "each message is decided on its own"
	case p.Terms.Raise != nil:
		return "each raise of a budget is decided on its own"
	case slices.ContainsFunc(p.Terms.Approvers, func(list []string) bool { return len(list) > 0 }):
		return "a rule of the configuration names approvers for each call"
	case slices.ContainsFunc(p.Terms.Rules, func(rule string) bool { return !strings.HasPrefix(rule, policy.RulePrefix) }):
		return "the call would raise the level of the conversation, or untrusted content may have caused it"
	case !p.Label.Valid() || !p.Terms.Level.Valid():
		return "the level of the call's result is not known"
	}
	return ""
}

// shownRule is a rule as YAML.
type shownRule struct {
	Agent string   `yaml:"agent"`
	Tool  string   `yaml:"tool"`
	Args  any      `yaml:"args"`
	UpTo  string   `yaml:"upTo"`            // what the conversation has learned
	Rules []string `yaml:"rules,omitempty"` // that would ask
}

// YAML returns the rule as YAML, which a person reads before it is saved.
func (r AllowRule) YAML() (string, error) {
	var args any
	dec := json.NewDecoder(bytes.NewReader(r.Args))
	dec.UseNumber()
	if err := dec.Decode(&args); err != nil {
		return "", fmt.Errorf("read the arguments of rule %s: %w", r.ID, err)
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	err := enc.Encode(map[string]shownRule{"alwaysAllow": {r.Agent, r.Tool, numbers(args), r.Label.String(), r.Terms.Rules}})
	if err != nil {
		return "", fmt.Errorf("write rule %s as YAML: %w", r.ID, err)
	}
	return out.String(), nil
}

// numbers converts the numbers in a value for YAML.
func numbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n
		}
		return yaml.Node{Kind: yaml.ScalarNode, Tag: "!!float", Value: v.String()}
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = numbers(v[name])
		}
	}
	return v
}
