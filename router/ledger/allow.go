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

// AllowRulesMax is how many rules exist at a time that always allow calls.
const AllowRulesMax = 500

// byRule begins the decider of a question that a rule has answered.
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

// Decider is who has decided about a call that the rule allows.
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
		return "it is about a message, and each message is decided on its own"
	case p.Terms.Raise != nil:
		return "it is about a budget, and each raise is decided on its own"
	case slices.ContainsFunc(p.Terms.Approvers, func(list []string) bool { return len(list) > 0 }):
		return "a rule of the configuration names who decides about each call"
	case slices.ContainsFunc(p.Terms.Rules, func(rule string) bool { return !strings.HasPrefix(rule, policy.RulePrefix) }):
		return "the call would raise the level of the conversation, or strangers may have led to it"
	case !p.Label.Valid() || !p.Terms.Level.Valid():
		return "it is not known what the call may teach the conversation"
	}
	return ""
}
