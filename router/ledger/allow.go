package ledger

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

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
