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

// Action is what a decision says.
type Action string

// The names of the fixed checks among the rules that a decision looked at.
const (
	RuleFlow       = "flow"       // what was learnt may reach the place
	RuleClearance  = "clearance"  // the session may ever learn it
	RuleEscalation = "escalation" // the session could still answer where it is spoken to
	RuleTrust      = "trust"      // no stranger has led to it
	RuleSecret     = "secret"     // the secret may be given to the tool
)

// The actions.
const (
	Allow Action = "allow"
	Block Action = "block"
	// Redact lets through what is left when something was taken out.
	Redact Action = "redact"
	Hold   Action = "hold" // waits for an approval
)

// Decision is a gate's answer with every rule that it looked at, in order.
type Decision struct {
	Action Action `json:"action"`
	// Reason is one sentence for the operator: which rule decided, and what to change.
	Reason string        `json:"reason"`
	Rules  []CheckResult `json:"rules"`
	// Terms are those of a hold.
	Terms *sessions.Terms `json:"terms,omitempty"`
	// Removed: what it takes out is gone from the text as it is kept.
	Removed bool `json:"taken,omitempty"`

	redact []*regexp.Regexp // what is taken out
	hide   *Secrets         // that are taken out, too; nil for none
	takes  bool             // something of either was in the text that was decided about, or may yet be
}

// allowedDecision is a decision before anything was found that forbids it.
func allowedDecision() Decision {
	return Decision{Action: Allow, Reason: "nothing forbids it", Rules: make([]CheckResult, 0, 4)}
}

// CheckResult is one rule that was looked at.
type CheckResult struct {
	Rule    string `json:"rule"`             // for example "flow", "override", "sendPolicy.rules[2]", "sendPolicy.default"
	Matched bool   `json:"matched"`          // the rule applies to this case
	Action  Action `json:"action,omitempty"` // what it says if it matches; of one that redacts allow where nothing was there to be taken out
	Detail  string `json:"detail,omitempty"`
}

// Egress is one text about to leave.
type Egress struct {
	ID   string // of the delivery, or of the answer that it is: it counts once for a rate, however often it is tried or told
	Now  time.Time
	Text string // all that is said: the text, its buttons and the names of its files, a line each
	// Parts are these, each by itself, as it is redacted; nil: Text is one piece.
	Parts []string
	Label flow.Label     // of the text
	Route sessions.Route // where to
	// Oldest is the conversation's first id, where it has got a new one since; may be empty. What is written about it still holds.
	Oldest   sessions.ConversationID
	Agent    string              // whose session; empty if none
	Kind     string              // delivery kind: reply, notice, message, …
	Key      sessions.Key        // the session's key; empty if none
	Override sessions.SendPolicy // the session's
	Session  SessionInput        // as rules see it
	// UnknownPlace: nobody has ever been heard there, and nobody there is let in by name. Where it is not
	// among the sinks either, it may be anybody's.
	UnknownPlace bool
	// Reader is the level of who reads the text with a token of their own, wherever it was said; invalid: who is in that place.
	Reader flow.Level
	// Partial: the text is still being written. A rule that might apply to what it becomes applies.
	Partial bool
	// Effects: the text is about to be sent, and counts.
	Effects bool
}

// Passes reports whether the text may leave, without what the decision takes out.
func (d *Decision) Passes() bool { return d.Action == Allow || d.Action == Redact }

// Holding are the rules that hold the text, in order.
func (d *Decision) Holding() (rules []string) {
	for _, r := range d.Rules {
		if r.Matched && r.Action == Hold {
			rules = append(rules, r.Rule)
		}
	}
	return rules
}

// Approve lets pass what is held, as somebody has allowed it; what was to be taken out of it still is.
func (d *Decision) Approve(by string) {
	d.Action, d.Reason = Allow, "allowed by "+by+": "+d.Reason
	if d.takes {
		d.Action = Redact
	}
}

// takeNothing makes a decision that would take something out allow what it is about as it is.
func (d *Decision) takeNothing() {
	d.redact, d.hide, d.takes = nil, nil, false
	if d.Action == Redact {
		d.Action, d.Reason = Allow, "arguments that are only judged are not redacted"
	}
}

// KeepRedaction makes a decision about what an earlier one has left of a text say what was taken out: it can't be found any more.
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

// AbovePlace reports whether the flow check forbids the text: its place carries less.
func (d *Decision) AbovePlace() bool {
	return slices.ContainsFunc(d.Rules, func(l CheckResult) bool { return l.Rule == RuleFlow && l.Matched })
}

// Same reports whether two decisions say the same for the same reasons.
func (d *Decision) Same(other *Decision) bool {
	return d != nil && other != nil && d.Action == other.Action && d.Reason == other.Reason && slices.Equal(d.Rules, other.Rules)
}

// addCheck records a rule that was looked at.
func (d *Decision) addCheck(rule string, matched bool, action Action, detail string) {
	d.Rules = append(d.Rules, CheckResult{Rule: rule, Matched: matched, Action: action, Detail: detail})
}

// strictness orders the actions.
func strictness(a Action) int {
	return slices.Index([]Action{Allow, Redact, Hold, Block}, a)
}

// tighten makes a decision at least as strict as an action.
func (d *Decision) tighten(action Action, reason string) {
	if d.Action == "" || strictness(action) > strictness(d.Action) {
		d.Action, d.Reason = action, reason
	}
}

// Add takes what another check says into the decision.
func (d *Decision) Add(rule string, action Action, reason string) {
	d.addCheck(rule, true, action, "")
	d.tighten(action, reason)
}

// hold adds the terms of a rule to those of others: all of them must be met.
func (d *Decision) hold(name string, r Rule) {
	timeout := r.Timeout
	if timeout == 0 {
		timeout = ApprovalTimeout
	}
	lapse := r.OnTimeout == Allow
	if d.Terms == nil {
		d.Terms = &sessions.Terms{Timeout: timeout, AllowOnTimeout: lapse}
	}
	d.Terms.Timeout, d.Terms.AllowOnTimeout = min(d.Terms.Timeout, timeout), d.Terms.AllowOnTimeout && lapse
	d.Terms.Approvers, d.Terms.Rules = append(d.Terms.Approvers, r.Approvers), append(d.Terms.Rules, name)
}

// Redacted is a text without what the decision takes out of it. To redact twice is to redact once.
func (d *Decision) Redacted(text string) string {
	text = d.hide.Redact(text)
	for _, pattern := range d.redact {
		text = pattern.ReplaceAllLiteralString(text, redacted)
	}
	return text
}

// Redacts reports whether the decision may take anything out of texts.
func (d *Decision) Redacts() bool { return len(d.redact) > 0 || d.hide != nil }

// RedactedArgs are a call's arguments without what the decision takes out of their strings.
func (d *Decision) RedactedArgs(args json.RawMessage) (json.RawMessage, error) {
	if !d.Redacts() {
		return args, nil
	}
	return mapStrings(args, d.Redacted)
}
