package sessions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sluice/policy/flow"
	"sluice/sessions/message"
)

// ToolTimeout bounds one tool call.
const ToolTimeout = 2 * time.Minute

// interrupted is the result that a model gets for a call that may or may not have run.
const interrupted = "interrupted: the process ended while this call was under way. It may or may not have taken effect. It was not run again."

// Confirmation decides about one tool call.
type Confirmation struct {
	CallID   string
	Approved bool
	Reason   string // shown to the model when the call is refused
	// Label is the label of Reason; the session's taint joins it. The zero label adds nothing.
	Label flow.Label
}

// PendingToolCalls returns the calls of the last answer that have no result yet, in order; nil if all have one.
func (s *Session) PendingToolCalls() []Part {
	s.mu.Lock()
	defer s.mu.Unlock()
	return message.OpenCalls(s.messages)
}

// Interrupted refuses a call that may or may not have run.
func Interrupted(callID string) Confirmation {
	return Confirmation{CallID: callID, Reason: interrupted}
}

// Tool finds one of the agent's tools.
func (s *Session) Tool(name string) (Tool, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tool(name)
}

func (s *state) tool(name string) (Tool, bool) {
	for _, t := range s.agent.Tools {
		if t.Spec.Name == name {
			return t, true
		}
	}
	return Tool{}, false
}

// ConfirmAndExecuteTools runs the open calls that are approved, in their order,
// and gives each a result; a refused one gets its reason. Each call that
// [Session.CallsToConfirm] names needs exactly one confirmation, any other may have
// one; a missing, second or strange one is an error before anything runs. What the
// session's [PermissionMode] refuses does not run, confirmed or not.
//
// A call of a sub-agent tool takes its result from subAgents, where it must be complete:
// [Session.PendingSubAgentToolCalls] prepares it as soon as the calls before it have run. It and the calls behind it
// therefore stay open if it is not there. If the first open call is not there, or is not complete, and is not refused,
// that is an error before anything runs.
//
// A call runs at most once: it is stored before it runs and its result after, one
// after the other. If a call fails, the model gets its error, and this method returns none; it returns an error
// if the session could not be stored or ctx ended. The session adds its own identity and taint to caller.
//
// The [Monitor] judges each call just before it runs, with what the session has learnt from the calls before it. If a
// person must be asked only now, this call and those behind it stay open, to be confirmed and executed next.
func (s *Session) ConfirmAndExecuteTools(ctx context.Context, caller Caller, confirmations []Confirmation, subAgents ...*PendingSubAgentToolCall) (allRejected bool, err error) {
	decisions, err := s.calls.decide(ctx, allCalls, confirmations, subAgents)
	if err != nil {
		return false, err
	}
	return s.calls.executeAll(ctx, caller, decisions)
}

// ExecuteUntilApproval is [Session.ConfirmAndExecuteTools] for the open calls before the first one that a person must
// decide about. A caller that then waits for the decision has run everything that needs none, and of the calls still
// open only the first may have started. Without a call to run it returns [ErrNoToolCall].
func (s *Session) ExecuteUntilApproval(ctx context.Context, caller Caller, confirmations []Confirmation, subAgents ...*PendingSubAgentToolCall) (allRejected bool, err error) {
	decisions, err := s.calls.decide(ctx, freeCalls, confirmations, subAgents)
	if err != nil {
		return false, err
	}
	return s.calls.executeAll(ctx, caller, decisions)
}

// calls brings the open tool calls to their results.
type calls struct {
	*state
	saver saver
}

// executeAll runs calls. It stores the result of each before the next one starts.
func (s calls) executeAll(ctx context.Context, caller Caller, decisions []decision) (allRejected bool, err error) {
	allRejected = true
	for _, d := range decisions {
		if d.child == nil {
			if wait, err := s.begin(ctx, &d); err != nil {
				return false, err
			} else if wait {
				break
			}
		}
		result := Part{Text: d.reason, Error: true, Label: d.reasonLabel()}
		if d.approved {
			allRejected = false
			result = s.execute(ctx, caller, d)
		}
		if ctx.Err() != nil && result.Error {
			return false, d.ended(ctx)
		}
		s.addResult(d.call, result) // the last one is stored with the next step
	}
	return allRejected, nil
}

// begin does what comes before a call takes effect: it may be skipped, the monitor judges it, and it is stored. It reports
// whether the call must wait because a person must be asked first.
func (s calls) begin(ctx context.Context, d *decision) (wait bool, err error) {
	if err := s.mayStart(ctx, d); err != nil {
		return false, err
	}
	if err := s.refreshReach(ctx, d); err != nil {
		return false, err
	}
	if s.recheck(d) {
		return true, nil
	}
	return false, s.saver.Persist(ctx)
}

// ended is the error of a call that failed because ctx ended.
func (d *decision) ended(ctx context.Context) error {
	return fmt.Errorf("run tool %s: %w", d.call.Tool, context.Cause(ctx))
}

// reasonLabel is the label of a refusal's reason. The session's own reasons add nothing to its taint.
func (d *decision) reasonLabel() flow.Label {
	if d.said == (flow.Label{}) {
		return flow.Bottom()
	}
	return d.said
}

// learntMore is the result of a call that was approved when the session knew less.
const learntMore = "refused: the conversation has learned more since the call was approved; call the tool again to ask for a new decision"

// termsChanged is the result of a call that was approved before a rule required another approver.
const termsChanged = "refused: the terms of the approval have changed since the call was approved; call the tool again to ask for a new decision"

// recheck lets the monitor judge a call that is about to run. It reports whether the call must wait because a person must
// be asked first.
func (s calls) recheck(d *decision) (wait bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.barred {
		s.verdict(d, false, true) // for the record
	}
	if !d.known || !d.approved {
		return false
	}
	if d.asked {
		if d.reason = s.approvalGap(d); d.reason != "" {
			d.approved = false
			return false
		}
	}
	v := s.verdict(d, d.asked, true)
	d.args = v.Args
	switch v.Ruling {
	case RulingRefuse:
		d.approved, d.reason = false, v.Reason
	case RulingAsk:
		return true
	}
	return false
}

// approvalGap says why a call's approval does not cover what the monitor asks for now; empty: it covers it.
func (s calls) approvalGap(d *decision) string {
	v := s.verdict(d, false, false)
	switch {
	case v.Ruling != RulingAsk:
		return ""
	case s.record.Taint != d.learnt:
		return learntMore
	case !v.Terms.Same(d.terms):
		return termsChanged
	}
	return ""
}

// SetSkip sets a function that is called before each tool call. If it returns a text, the text becomes the result and the
// tool does not run. If it returns an error, the step ends as if its context had ended.
func (s *Session) SetSkip(skip func(context.Context) (instead string, err error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skip = skip
}

// mayStart withdraws the approval of a call that is to be skipped. It comes before the monitor's judgement, so that a call
// that does not run is not judged, counted or recorded.
func (s calls) mayStart(ctx context.Context, d *decision) error {
	s.mu.Lock()
	skip := s.skip
	s.mu.Unlock()
	if skip == nil || !d.approved {
		return nil
	}
	instead, err := skip(ctx)
	if err != nil {
		return fmt.Errorf("run tool %s: %w", d.call.Tool, err)
	}
	if instead != "" {
		d.approved, d.reason = false, instead
	}
	return nil
}

// execute runs one call and returns its result, as the monitor lets the session learn it.
func (s calls) execute(ctx context.Context, caller Caller, d decision) Part {
	var r Response
	trail := &Trail{}
	switch {
	case d.child != nil:
		r, trail = d.child.result(), d.child.trail
	case !d.known:
		return Part{Text: fmt.Sprintf("there is no tool %q", d.call.Tool), Error: true, Label: s.current().Taint}
	default:
		caller = s.completed(caller, d.call)
		caller.Trail = trail
		r = d.run(ctx, caller.Taint, func(ctx context.Context) (ToolResult, error) { return d.tool.Run(ctx, caller, d.args) })
	}
	r = s.response(d.call, d.tool, d.args, r, trail)
	return Part{Text: r.Text, Error: r.Error, Label: r.Label}
}

// run lets the tool work, within its time. An error has the label of the session that called it.
func (d *decision) run(ctx context.Context, taint flow.Label, work func(context.Context) (ToolResult, error)) Response {
	failed := func(err error) Response {
		return Response{Text: err.Error(), Error: true, Label: taint}
	}
	timeout := ToolTimeout
	if d.tool.Timeout > 0 {
		timeout = d.tool.Timeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	result, err := work(ctx)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return failed(fmt.Errorf("the tool did not end within %s; it may still take effect", timeout))
	case err != nil:
		return failed(err)
	}
	return Response{Text: result.Text, Error: result.Failed, Label: result.Label}
}

// completed adds to a caller what only the session knows.
func (s calls) completed(caller Caller, call Part) Caller {
	s.mu.Lock()
	defer s.mu.Unlock()
	caller.Session, caller.Key, caller.Agent = s.record.ID, s.record.Key, s.record.Agent
	caller.CallID, caller.Taint, caller.Clearance, caller.Sandbox = call.CallID, s.record.Taint, s.record.Clearance, s.sandbox
	return caller
}

// addResult appends a call's result to the results message of the answer that asked for it.
func (s calls) addResult(call, result Part) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own()
	delete(s.children, call.CallID)
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
	for _, call := range s.PendingToolCalls() {
		s.calls.addResult(call, Part{Text: interrupted, Error: true, Label: flow.Bottom()})
	}
}
