package policy

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"sluice/policy/flow"
	"sluice/sessions"
)

// Action is the action of a decision.
type Action string

// The names of the fixed checks, as decisions list them.
const (
	RuleFlow       = "flow"       // what was learnt may reach the place
	RuleClearance  = "clearance"  // the session may ever learn it
	RuleEscalation = "escalation" // the session could still answer in its own conversation
	RuleTrust      = "trust"      // no stranger influenced it
	RuleSecret     = "secret"     // the secret may be given to the tool
)

// The actions.
const (
	Allow Action = "allow"
	Block Action = "block"
	// Redact allows the rest of the text after redaction.
	Redact Action = "redact"
	Hold   Action = "hold" // waits for an approval
)

// Decision is a gate's or monitor's answer with every rule that it checked, in order.
type Decision struct {
	Action Action `json:"action"`
	// Reason is one sentence for the operator: which rule decided, and what to change.
	Reason string        `json:"reason"`
	Rules  []CheckResult `json:"rules"`
	// Terms are those of a hold.
	Terms *sessions.Terms `json:"terms,omitempty" doc:"of a hold: who may decide, and until when; approvers: a principal in every one of the lists, where an empty list means the owners"`
	// Removed: the stored text no longer contains what was redacted.
	Removed bool `json:"taken,omitempty"`

	redact []*regexp.Regexp // what is redacted
	hide   *Secrets         // secrets that are redacted as well; may be nil
	takes  bool             // whether either matched the text, or may match what it becomes
}

// allowedDecision is a decision before any check.
func allowedDecision() Decision {
	return Decision{Action: Allow, Reason: "nothing forbids it", Rules: make([]CheckResult, 0, 4)}
}

// CheckResult is the result of one rule.
type CheckResult struct {
	Rule    string `json:"rule"`             // for example "flow", "override", "sendPolicy.rules[2]", "sendPolicy.default"
	Matched bool   `json:"matched"`          // the rule applies to this case
	Action  Action `json:"action,omitempty"` // the rule's action if it matches; allow if it redacts but the text contained nothing to redact
	Detail  string `json:"detail,omitempty"`
}

// Egress is one outgoing text.
type Egress struct {
	ID   string // of the delivery, or of the answer in it: a rate counts it once, however often it is tried or shown
	Now  time.Time
	Text string // the whole text: the text, its buttons and the names of its files, one per line
	// Parts are these texts, redacted separately; nil: Text is the only part.
	Parts []string
	Label flow.Label     // of the text
	Route sessions.Route // where to
	// Oldest is the conversation's first id if it has got a new one since; may be empty. Configuration for it still
	// applies.
	Oldest   sessions.ConversationID
	Agent    string              // of the session; empty without a session
	Kind     string              // delivery kind: reply, notice, message, …
	Key      sessions.Key        // of the session; empty without a session
	Override sessions.SendPolicy // the session's
	Session  SessionInput        // as rules see it
	// UnknownPlace: nobody has ever spoken there, and nobody there is admitted by name. Unless the sinks list it, it
	// may be anybody's.
	UnknownPlace bool
	// Reader is the level of a caller that reads the text with its own token; invalid: the readers are the people in
	// the place.
	Reader flow.Level
	// Partial: the text is unfinished. A rule that might match the finished text applies.
	Partial bool
	// Effects: the text is about to be sent, and counts for rates.
	Effects bool
}

// Passes reports whether the text may be sent, after redaction.
func (d *Decision) Passes() bool { return d.Action == Allow || d.Action == Redact }

// Holding lists the rules that hold the text, in order.
func (d *Decision) Holding() (rules []string) {
	for _, r := range d.Rules {
		if r.Matched && r.Action == Hold {
			rules = append(rules, r.Rule)
		}
	}
	return rules
}

// Approve allows a held text because somebody approved it; redactions still apply.
func (d *Decision) Approve(by string) {
	d.Action, d.Reason = Allow, "allowed by "+by+": "+d.Reason
	if d.takes {
		d.Action = Redact
	}
}

// takeNothing turns a decision that would redact something into one that allows it unchanged.
func (d *Decision) takeNothing() {
	d.redact, d.hide, d.takes = nil, nil, false
	if d.Action == Redact {
		d.Action, d.Reason = Allow, "arguments that are only checked are not redacted"
	}
}

// KeepRedaction copies the redaction of an earlier decision about a text that is now redacted: the rules no longer
// find anything there.
func (d *Decision) KeepRedaction(before *Decision) {
	if before == nil || !before.Removed {
		return
	}
	d.Removed = true
	if d.Action != Allow {
		return
	}
	d.Action = Redact
	if before.Action == Redact {
		d.Reason, d.Rules = before.Reason, before.Rules
	}
}

// SendDenied reports whether the send policy, a session's override included, forbids the text.
func (d *Decision) SendDenied() bool {
	if d.Action != Block || len(d.Rules) == 0 {
		return false
	}
	last := d.Rules[len(d.Rules)-1]
	return last.Rule == ruleOverride || strings.HasPrefix(last.Rule, "sendPolicy.")
}

// AbovePlace reports whether the flow check forbids the text, because the level of its place is too low.
func (d *Decision) AbovePlace() bool {
	return slices.ContainsFunc(d.Rules, func(l CheckResult) bool { return l.Rule == RuleFlow && l.Matched })
}

// Same reports whether two decisions have the same result and reasons.
func (d *Decision) Same(other *Decision) bool {
	return d != nil && other != nil && d.Action == other.Action && d.Reason == other.Reason && slices.Equal(d.Rules, other.Rules)
}

// addCheck records the result of a rule.
func (d *Decision) addCheck(rule string, matched bool, action Action, detail string) {
	d.Rules = append(d.Rules, CheckResult{Rule: rule, Matched: matched, Action: action, Detail: detail})
}

// strictness orders the actions.
func strictness(a Action) int {
	return slices.Index([]Action{Allow, Redact, Hold, Block}, a)
}

// Stricter reports whether an action stops more than another.
func Stricter(a, than Action) bool { return strictness(a) > strictness(than) }

// tighten makes a decision at least as strict as an action.
func (d *Decision) tighten(action Action, reason string) {
	if d.Action == "" || Stricter(action, d.Action) {
		d.Action, d.Reason = action, reason
	}
}

// Add adds the result of another check to the decision.
func (d *Decision) Add(rule string, action Action, reason string) {
	d.addCheck(rule, true, action, "")
	d.tighten(action, reason)
}

// hold adds the terms of a rule to those of other rules: all of them must be met.
func (d *Decision) hold(name string, r Rule) {
	timeout := r.Timeout
	if timeout == 0 {
		timeout = ApprovalTimeout
	}
	allow := r.OnTimeout == Allow
	if d.Terms == nil {
		d.Terms = &sessions.Terms{Timeout: timeout, AllowOnTimeout: allow}
	}
	d.Terms.Timeout, d.Terms.AllowOnTimeout = min(d.Terms.Timeout, timeout), d.Terms.AllowOnTimeout && allow
	approvers := append([]string{}, r.Approvers...) // never null in JSON
	d.Terms.Approvers, d.Terms.Rules = append(d.Terms.Approvers, approvers), append(d.Terms.Rules, name)
}

// Redacted is a text after redaction. Redacting twice equals redacting once.
func (d *Decision) Redacted(text string) string {
	text = d.hide.Redact(text)
	for _, pattern := range d.redact {
		text = pattern.ReplaceAllLiteralString(text, redacted)
	}
	return text
}

// Redacts reports whether the decision may redact texts.
func (d *Decision) Redacts() bool { return len(d.redact) > 0 || d.hide != nil }

// RedactedArgs are a call's arguments after redaction of their strings.
func (d *Decision) RedactedArgs(args json.RawMessage) (json.RawMessage, error) {
	if !d.Redacts() {
		return args, nil
	}
	return mapStrings(args, d.Redacted)
}

// Simulation is the decision about a call of a tool that is not made.
type Simulation struct {
	Tool     string `json:"tool_name"`
	Decision string `json:"decision" enum:"ALLOW,BLOCK,REDACT,REQUIRE_APPROVAL"`
	Reason   string `json:"reason"`
	// Level is the session's level, and ResultingLevel its level after the call.
	Level          flow.Level    `json:"level"`
	ResultingLevel flow.Level    `json:"resulting_level"`
	Rules          []CheckResult `json:"rules"`
}

// Decide adds a decision to the simulation, in the form that programs read.
func (s *Simulation) Decide(d Decision) {
	words := map[Action]string{Allow: "ALLOW", Block: "BLOCK", Redact: "REDACT", Hold: "REQUIRE_APPROVAL"}
	s.Decision, s.Reason, s.Rules = words[d.Action], d.Reason, d.Rules
}
