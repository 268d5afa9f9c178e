package sessions

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"sluice/policy/flow"
	"sluice/sessions/message"
)

// decision is the outcome for one open call.
type decision struct {
	call     Part
	tool     Tool
	known    bool // the agent has the tool
	reach    Reach
	approved bool
	asked    bool                     // a person was asked
	terms    Terms                    // under which
	barred   bool                     // the monitor refuses the call; not recorded yet
	learnt   flow.Label               // by the session, when it was decided
	args     json.RawMessage          // that the tool gets
	reason   string                   // of a refusal
	said     flow.Label               // label of a reason that somebody gave; zero: it is the session's own
	child    *PendingSubAgentToolCall // that has worked the call; nil for other tools
}

// scope says which of the open calls are decided about.
type scope int

const (
	allCalls      scope = iota // up to the first one whose sub-agent is not prepared
	freeCalls                  // of these, those before the first one that a person must decide about
	subAgentCalls              // those of sub-agent tools that come first, before one that lacks a confirmation
)

// decide matches open calls with their confirmations. If it fails, nothing has run.
func (s calls) decide(ctx context.Context, which scope, confirmations []Confirmation, subAgents []*PendingSubAgentToolCall) ([]decision, error) {
	reached, err := s.lookUpNew(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.building != nil {
		return nil, ErrStepBusy
	}
	open := message.OpenCalls(s.messages)
	if len(open) == 0 {
		return nil, ErrNoToolCall
	}
	confirmed, err := byCall(confirmations)
	if err != nil {
		return nil, err
	}
	children := s.children
	if which != subAgentCalls {
		if children, err = s.childrenByCall(subAgents); err != nil {
			return nil, err
		}
	}
	if err := allOpen(open, confirmed, children); err != nil {
		return nil, err
	}
	var decisions []decision
	for _, call := range open {
		d := decision{call: call, reach: reached[openCall{s.asks(), call.CallID}], child: children[call.CallID]}
		d.tool, d.known = s.tool(call.Tool)
		if s.outside(which, d, confirmed, len(decisions) == 0) {
			break
		}
		if err := s.judge(&d, confirmed, which); err != nil {
			return nil, err
		}
		decisions = append(decisions, d)
	}
	if len(decisions) == 0 {
		return nil, ErrNoToolCall
	}
	return decisions, nil
}

// outside reports whether a call, and with it those behind it, are outside a scope.
func (s calls) outside(which scope, d decision, confirmed map[string]Confirmation, first bool) bool {
	asks := func() bool { return s.ruling(d.call, d.reach).Ruling == RulingAsk }
	switch _, given := confirmed[d.call.CallID]; {
	case which == subAgentCalls:
		return d.tool.SubAgent == nil || d.child == nil && !given && asks()
	case d.tool.SubAgent != nil && d.child == nil && !first:
		return true
	}
	return which == freeCalls && d.child == nil && asks()
}

// allOpen refuses confirmations and sub-agents of calls that are not open.
func allOpen(open []Part, confirmed map[string]Confirmation, children map[string]*PendingSubAgentToolCall) error {
	isOpen := func(id string) bool { return slices.ContainsFunc(open, func(c Part) bool { return c.CallID == id }) }
	for id := range confirmed {
		if !isOpen(id) {
			return fmt.Errorf("tool call %q is confirmed and not open", id)
		}
	}
	for id := range children {
		if !isOpen(id) {
			return fmt.Errorf("tool call %q has a sub-agent and is not open", id)
		}
	}
	return nil
}

// judge decides about one call, first by the session's mode, then by the call's confirmation. A call whose sub-agent was
// prepared has been decided about then. A confirmation can still refuse it.
func (s calls) judge(d *decision, confirmed map[string]Confirmation, which scope) error {
	c, given := confirmed[d.call.CallID]
	if p := d.child; p != nil {
		if *d, d.child = p.decision, p; given && !c.Approved {
			d.refuse(c)
		}
	} else if err := s.rule(d, c, given); err != nil {
		return err
	}
	if which != subAgentCalls && d.approved && d.tool.SubAgent != nil && (d.child == nil || !d.child.IsComplete()) {
		return fmt.Errorf("tool call %q (%s): its sub-agent is not complete", d.call.CallID, d.call.Tool)
	}
	return nil
}

// rule decides about a call that nobody has decided about.
func (s calls) rule(d *decision, c Confirmation, given bool) error {
	v := s.ruling(d.call, d.reach)
	d.asked, d.terms, d.learnt = v.Ruling == RulingAsk, v.Terms, s.record.Taint
	switch {
	case v.Ruling == RulingRefuse:
		d.reason, d.barred = v.Reason, s.permission.Ruling(d.tool) != RulingRefuse
		if given && !c.Approved && c.Reason != "" {
			d.reason, d.said = c.Reason, c.Label
		}
	case d.asked && !given:
		return fmt.Errorf("tool call %q (%s) is not confirmed", d.call.CallID, d.call.Tool)
	case given && !c.Approved:
		d.refuse(c)
	default:
		d.approved = true
	}
	return nil
}

// refuse makes a confirmation's refusal the decision.
func (d *decision) refuse(c Confirmation) {
	if d.approved, d.reason, d.said = false, c.Reason, c.Label; d.reason == "" {
		d.reason = "the call was not approved"
	}
}

func byCall(confirmations []Confirmation) (map[string]Confirmation, error) {
	confirmed := make(map[string]Confirmation, len(confirmations))
	for _, c := range confirmations {
		if _, twice := confirmed[c.CallID]; twice {
			return nil, fmt.Errorf("tool call %q is confirmed twice", c.CallID)
		}
		confirmed[c.CallID] = c
	}
	return confirmed, nil
}

func (s calls) childrenByCall(subAgents []*PendingSubAgentToolCall) (map[string]*PendingSubAgentToolCall, error) {
	children := make(map[string]*PendingSubAgentToolCall, len(subAgents))
	for _, p := range subAgents {
		switch {
		case p == nil || p.parent != s.state:
			return nil, fmt.Errorf("a sub-agent was prepared for another session than %s", s.record.ID)
		case children[p.ToolCallID()] != nil:
			return nil, fmt.Errorf("tool call %q has two sub-agents", p.ToolCallID())
		}
		children[p.ToolCallID()] = p
	}
	return children, nil
}
