package sessions

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"sluice/policy/flow"
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

// decide matches the open calls with their confirmations: all calls, or those before the first one that a person must
// decide about. If it fails, nothing has run.
func (s calls) decide(ctx context.Context, unasked bool, confirmations []Confirmation, subAgents []*PendingSubAgentToolCall) ([]decision, error) {
	reached, err := s.lookUpNew(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.building != nil {
		return nil, ErrStepBusy
	}
	calls := openCalls(s.messages)
	reach := func(c Part) Reach { return reached[openCall{s.asks(), c.CallID}] }
	if first := slices.IndexFunc(calls, func(c Part) bool { return s.ruling(c, reach(c)).Ruling == RulingAsk }); unasked && first >= 0 {
		calls = calls[:first]
	}
	if len(calls) == 0 {
		return nil, ErrNoToolCall
	}
	confirmed, err := byCall(confirmations)
	if err != nil {
		return nil, err
	}
	children, err := s.childrenByCall(subAgents)
	if err != nil {
		return nil, err
	}
	decisions := make([]decision, len(calls))
	for i, call := range calls {
		d := decision{call: call, reach: reach(call), child: children[call.CallID]}
		d.tool, d.known = s.tool(call.Tool)
		if err := s.judge(&d, confirmed); err != nil {
			return nil, err
		}
		delete(confirmed, call.CallID)
		delete(children, call.CallID)
		decisions[i] = d
	}
	for id := range confirmed {
		return nil, fmt.Errorf("tool call %q is confirmed and not open", id)
	}
	for id := range children {
		return nil, fmt.Errorf("tool call %q has a sub-agent and is not open", id)
	}
	return decisions, nil
}

// judge decides about one call, first by the session's mode, then by the call's confirmation.
func (s calls) judge(d *decision, confirmed map[string]Confirmation) error {
	c, given := confirmed[d.call.CallID]
	v := s.ruling(d.call, d.reach)
	d.asked, d.terms, d.learnt = v.Ruling == RulingAsk, v.Terms, s.record.Taint
	switch {
	case v.Ruling == RulingRefuse:
		d.reason, d.barred = v.Reason, s.permission.Ruling(d.tool) != RulingRefuse
		if given && !c.Approved && c.Reason != "" {
			d.reason, d.said = c.Reason, c.Label
		}
		return nil
	case d.asked && !given:
		return fmt.Errorf("tool call %q (%s) is not confirmed", d.call.CallID, d.call.Tool)
	case given && !c.Approved:
		if d.reason, d.said = c.Reason, c.Label; d.reason == "" {
			d.reason = "the call was not approved"
		}
		return nil
	}
	d.approved = true
	if d.tool.SubAgent == nil {
		return nil
	}
	if d.child == nil || !d.child.IsComplete() {
		return fmt.Errorf("tool call %q (%s): its sub-agent is not complete", d.call.CallID, d.call.Tool)
	}
	return nil
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
		case children[p.callID] != nil:
			return nil, fmt.Errorf("tool call %q has two sub-agents", p.callID)
		}
		children[p.callID] = p
	}
	return children, nil
}
