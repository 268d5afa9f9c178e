package policy

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Rule is one configured rule: its hook, its condition and its action.
type Rule struct {
	Name string // unique
	Hook Hook
	// Tools are patterns of tool names ("mcp_github_*"); empty means every tool, or none for hooks without a tool.
	Tools []string
	// When is a CEL expression over [Input]; empty means always.
	When   string
	Action Action
	// Message is the reason for the operator, and for a call also for the model; empty: that the rule says so.
	Message string
	// Redact is the pattern (RE2) of what [Redact] removes.
	Redact string
	// Approvers are the principals who may approve; empty: the owners.
	Approvers []string
	// Timeout is how long to wait for a decision; 0 is [ApprovalTimeout].
	Timeout time.Duration
	// OnTimeout is the result without a decision in time: Block (also if empty) or Allow.
	OnTimeout Action
	// Rate makes the rule apply only above this rate.
	Rate *Rate
}

// ApprovalTimeout is how long to wait for a decision if no rule says otherwise.
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

// checked is a compiled rule.
type checked struct {
	Rule
	when   Condition // nil: always
	redact *regexp.Regexp
}

// compile checks a rule. Its errors name the field.
func compile(index int, r Rule, condition func(when string) (Condition, error)) (*checked, []error) {
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
	if strings.TrimSpace(r.When) != "" {
		var err error
		if c.when, err = condition(r.When); err != nil {
			fault("when", "%w", err)
		}
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
	// The replacement text matches first, so that it is not redacted again.
	c.redact, err = regexp.Compile(regexp.QuoteMeta(redacted) + `|(?:` + c.Rule.Redact + `)`)
	return err
}

// takesOut reports whether the rule redacts anything in a text.
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

// about reports whether the rule applies to a tool.
func (c *checked) about(tool string) bool {
	return len(c.Tools) == 0 || NameMatches(c.Tools, tool)
}
