package policy

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"
)

// Rule is one configured rule: where it is asked, when it applies and what it then says.
type Rule struct {
	Name string // unique
	Hook Hook
	// Tools are patterns of tool names ("mcp_github_*"); empty is every tool, or none at hooks without one.
	Tools []string
	// When is a CEL expression over [Input]; empty is always.
	When   string
	Action Action
	// Message is told to the operator, and for a call to the model; empty: that the rule says so.
	Message string
	// Redact is the pattern (RE2) of what [Redact] takes out.
	Redact string
	// Approvers are the principals who may approve what is held; empty: the owners.
	Approvers []string
	// Timeout is how long a decision is waited for; 0 is [ApprovalTimeout].
	Timeout time.Duration
	// OnTimeout is what no decision in time means: Block, which an empty one is too, or Allow.
	OnTimeout Action
	// Rate lets the rule apply only to what goes beyond it.
	Rate *Rate
}

// ApprovalTimeout is how long a decision is waited for where no rule says otherwise.
const ApprovalTimeout = 10 * time.Minute

// RuleError says what is wrong with a rule.
type RuleError struct {
	Index int    // of the rule
	Field string // of it: when, action, …
	Err   error
}

func (e *RuleError) Error() string {
	return fmt.Sprintf("policy.rules[%d].%s: %v", e.Index, e.Field, e.Err)
}

func (e *RuleError) Unwrap() error { return e.Err }

// checked is a rule that is ready to be asked.
type checked struct {
	Rule
	when   *condition // nil: always
	redact *regexp.Regexp
}

// compile checks a rule. Its errors name the field.
func compile(index int, r Rule) (*checked, []error) {
	var faults []error
	fault := func(field, format string, args ...any) {
		faults = append(faults, &RuleError{index, field, fmt.Errorf(format, args...)})
	}
	c := &checked{Rule: r}
	if r.Name == "" {
		fault("name", "is required")
	}
	if !r.Hook.known() {
		fault("hook", "%q: want one of %v", r.Hook, Hooks())
	} else if actions := r.Hook.Actions(); !slices.Contains(actions, r.Action) {
		fault("action", "%q: at %s a rule can be one of %v", r.Action, r.Hook, actions)
	}
	for _, pattern := range r.Tools {
		if err := CheckNamePattern(pattern); err != nil {
			fault("tools", "%q: %w", pattern, err)
		}
	}
	if len(r.Tools) > 0 && !r.Hook.ofTool() {
		fault("tools", "%s has no tool", r.Hook)
	}
	if err := c.compileRedact(); err != nil {
		fault("redact", "%w", err)
	}
	var err error
	if c.when, err = newCondition(r.When); err != nil {
		fault("when", "%w", err)
	}
	if r.Action != Hold && (len(r.Approvers) > 0 || r.Timeout != 0 || r.OnTimeout != "") {
		fault("action", "approvers, timeout and onTimeout are for require_approval")
	}
	if !slices.Contains([]Action{"", Allow, Block}, r.OnTimeout) {
		fault("onTimeout", "%q: want block or allow", r.OnTimeout)
	}
	if r.Timeout < 0 {
		fault("timeout", "%s is less than 0", r.Timeout)
	}
	if r.Rate != nil {
		if err := r.Rate.check(); err != nil {
			fault("rate", "%w", err)
		}
	}
	return c, faults
}

func (c *checked) compileRedact() (err error) {
	switch {
	case c.Action == Redact && c.Rule.Redact == "":
		return errors.New("is required with redact: the pattern of the text to remove")
	case c.Action != Redact && c.Rule.Redact != "":
		return errors.New("is only for the action redact")
	case c.Rule.Redact == "":
		return nil
	}
	pattern, err := regexp.Compile(c.Rule.Redact)
	if err != nil {
		return err
	}
	if pattern.MatchString("") {
		return errors.New("matches the empty text: make it match at least one character")
	}
	// What stands for something taken out is matched first, so that it is not taken out again.
	c.redact, err = regexp.Compile(regexp.QuoteMeta(redacted) + `|(?:` + c.Rule.Redact + `)`)
	return err
}

// takesOut reports whether the rule takes anything out of a text.
func (c *checked) takesOut(text string) bool {
	return c.redact.ReplaceAllLiteralString(text, redacted) != text
}

// ofTool reports whether the hook is about a tool.
func (h Hook) ofTool() bool {
	switch h {
	case PreToolCall, PostToolResponse, MCPToolCall, AgentInvocation, SecretAccess:
		return true
	}
	return false
}

// about reports whether the rule is for a tool.
func (c *checked) about(tool string) bool {
	return len(c.Tools) == 0 || NameMatches(c.Tools, tool)
}
