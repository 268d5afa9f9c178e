package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"sluice/policy/flow"
)

// ToolTimeout bounds one tool call.
const ToolTimeout = 2 * time.Minute

// interrupted is what a model reads of a call that may or may not have run.
const interrupted = "interrupted: the process ended while this call was under way. It may or may not have taken effect. It was not run again."

// Confirmation decides about one tool call.
type Confirmation struct {
	CallID   string
	Approved bool
	Reason   string // shown to the model when the call is refused
}

// PendingToolCalls are the calls of the last answer that have no result yet, in order; nil if there are none.
func (s *Session) PendingToolCalls() []Part {
	s.mu.Lock()
	defer s.mu.Unlock()
	return openCalls(s.messages)
}

// openCalls looks at the end of a thread: an answer with calls, or the results that some of them have got.
func openCalls(thread []Message) []Part {
	if len(thread) == 0 {
		return nil
	}
	last := thread[len(thread)-1]
	if last.Role == RoleAssistant {
		return last.ToolCalls()
	}
	if last.Role != RoleToolResult || len(thread) < 2 {
		return nil
	}
	var open []Part
	for _, call := range thread[len(thread)-2].ToolCalls() {
		if !slices.ContainsFunc(last.Parts, func(p Part) bool { return p.CallID == call.CallID }) {
			open = append(open, call)
		}
	}
	return open
}

// Interrupted refuses a call of which nobody knows whether it ran.
func Interrupted(callID string) Confirmation {
	return Confirmation{CallID: callID, Reason: interrupted}
}

// Tool finds one of the agent's tools.
func (s *Session) Tool(name string) (Tool, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tool(name)
}

func (s *Session) tool(name string) (Tool, bool) {
	for _, t := range s.agent.Tools {
		if t.Spec.Name == name {
			return t, true
		}
	}
	return Tool{}, false
}

// ConfirmAndExecuteTools runs the open calls that are approved, in their order,
// and gives each a result; a refused one gets its reason. There must be exactly
// one confirmation for each open call, else nothing runs.
//
// A call runs at most once: it is stored before it runs and its result after, one
// after the other. A call that fails gives the model its error and is no error here; an error
// means that the session could not be stored, or that ctx ended. caller is
// completed with the session's own identity and taint.
func (s *Session) ConfirmAndExecuteTools(ctx context.Context, caller Caller, confirmations []Confirmation) (allRejected bool, err error) {
	calls := s.PendingToolCalls()
	if err := matchConfirmations(calls, confirmations); err != nil {
		return false, err
	}
	if err := s.Persist(ctx); err != nil {
		return false, err
	}
	allRejected = true
	for i, call := range calls {
		c := confirmations[slices.IndexFunc(confirmations, func(c Confirmation) bool { return c.CallID == call.CallID })]
		result := Part{Text: c.Reason, Error: true, Label: flow.Bottom()}
		if c.Approved {
			allRejected = false
			result = s.execute(ctx, caller, call)
		} else if result.Text == "" {
			result.Text = "the call was not approved"
		}
		if ctx.Err() != nil && result.Error {
			return false, fmt.Errorf("run tool %s: %w", call.Tool, context.Cause(ctx))
		}
		s.addResult(call, result)
		if i == len(calls)-1 {
			break // the last result is stored with the next step
		}
		if err := s.Persist(ctx); err != nil {
			return false, err
		}
	}
	return allRejected, nil
}

func matchConfirmations(calls []Part, confirmations []Confirmation) error {
	if len(calls) == 0 {
		return ErrNoToolCall
	}
	seen := map[string]bool{}
	for _, c := range confirmations {
		if seen[c.CallID] {
			return fmt.Errorf("tool call %q is confirmed twice", c.CallID)
		}
		seen[c.CallID] = true
	}
	for _, call := range calls {
		if !seen[call.CallID] {
			return fmt.Errorf("tool call %q (%s) is not confirmed", call.CallID, call.Tool)
		}
	}
	if len(confirmations) != len(calls) {
		return fmt.Errorf("%d confirmations for %d open tool calls", len(confirmations), len(calls))
	}
	return nil
}

// execute runs one call to its result.
func (s *Session) execute(ctx context.Context, caller Caller, call Part) Part {
	s.mu.Lock()
	tool, known := s.tool(call.Tool)
	caller.Session, caller.Key, caller.Agent = s.record.ID, s.record.Key, s.record.Agent
	caller.CallID, caller.Taint = call.CallID, s.record.Taint
	s.mu.Unlock()
	failed := func(err error) Part {
		return Part{Text: err.Error(), Error: true, Label: caller.Taint}
	}
	if !known {
		return failed(fmt.Errorf("there is no tool %q", call.Tool))
	}
	args := call.Args
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if err := json.Unmarshal(args, &map[string]json.RawMessage{}); err != nil {
		return failed(fmt.Errorf("the arguments are not a JSON object: %w", err))
	}
	timeout := ToolTimeout
	if tool.Timeout > 0 {
		timeout = tool.Timeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	result, err := tool.Run(ctx, caller, args)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return failed(fmt.Errorf("the tool did not end within %s", timeout))
	case err != nil:
		return failed(err)
	}
	return Part{Text: result.Text, Label: result.Label}
}

// addResult appends a call's result to the results message of the answer that asked for it.
func (s *Session) addResult(call, result Part) {
	s.mu.Lock()
	defer s.mu.Unlock()
	result.Type, result.CallID, result.Tool = PartToolResult, call.CallID, call.Tool
	if !result.Label.Valid() {
		result.Label = flow.Top() // a label that was lost
	}
	if last := s.last(); last.Role == RoleToolResult {
		s.replace(last, append(slices.Clone(last.Parts), result))
		return
	}
	s.append(Message{Role: RoleToolResult, Run: s.last().Run, Parts: []Part{result}})
}

// ResolveInterrupted gives each open call the result that it was interrupted.
func (s *Session) ResolveInterrupted() {
	s.mu.Lock()
	calls := openCalls(s.messages)
	s.mu.Unlock()
	for _, call := range calls {
		s.addResult(call, Part{Text: interrupted, Error: true, Label: flow.Bottom()})
	}
}
