package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sluice/internal/agent/summarize"
	"sluice/internal/agent/tools/talk"
	"sluice/sessions"
)

// resume continues with tool calls that were open when the run's worker ended. Only the first of them may have
// started, because each result is stored before the next call starts.
func (w *work) resume(ctx context.Context) error {
	if w.session.Last().Role == sessions.RoleToolResult {
		w.usedTools, w.attached = true, true // perhaps by an earlier start
	}
	calls := w.session.PendingToolCalls()
	if len(calls) == 0 {
		return nil
	}
	confirmations := approveAll(calls)
	tool, ok := w.session.Tool(calls[0].Tool)
	if !ok || !tool.Idempotent && !(w.session.Permission() == sessions.PermissionAsk && tool.ReadOnly()) {
		confirmations[0] = sessions.Interrupted(calls[0].CallID)
	}
	if err := w.applyDenials(ctx, calls, confirmations); err != nil {
		return err
	}
	if err := w.execute(ctx, calls, confirmations); err != nil {
		return err
	}
	return w.executeOpen(ctx)
}

// executeOpen runs the open calls until none are left: what one of them teaches the session may require approval for
// later ones.
func (w *work) executeOpen(ctx context.Context) error {
	for range stepsMax {
		calls := w.session.PendingToolCalls()
		if len(calls) == 0 {
			return nil
		}
		if err := w.execute(ctx, calls, approveAll(calls)); err != nil {
			return err
		}
	}
	return fmt.Errorf("the tool calls of one answer were started %d times and are still open", stepsMax)
}

func approveAll(calls []sessions.Part) []sessions.Confirmation {
	confirmations := make([]sessions.Confirmation, len(calls))
	for i, call := range calls {
		confirmations[i] = sessions.Confirmation{CallID: call.CallID, Approved: true}
	}
	return confirmations
}

// execute runs tool calls and emits their events. It runs the calls before the first one that needs approval, or whose
// sub-agent can only be prepared when they have run; that one and those behind it wait.
func (w *work) execute(ctx context.Context, calls []sessions.Part, confirmations []sessions.Confirmation) error {
	w.usedTools = true
	run := w.session.ConfirmAndExecuteTools
	asked, err := w.session.CallsToConfirm(ctx)
	if err != nil {
		return err
	}
	if len(asked) > 0 && asked[0].CallID != calls[0].CallID {
		n := slices.IndexFunc(calls, func(c sessions.Part) bool { return c.CallID == asked[0].CallID })
		calls, confirmations, run = calls[:n], confirmations[:n], w.session.ExecuteUntilApproval
	} else if err := w.confirm(ctx, asked, confirmations); err != nil {
		return err
	}
	audience, err := w.audiences.Of(ctx, w.session.Record(), w.run)
	if err != nil {
		return err
	}
	caller := sessions.Caller{Run: w.run.ID, Route: w.run.Route, User: w.run.Speaker(), Owner: w.run.Input.Owner, Chain: w.run.Chain, Audience: audience}
	delegated, err := w.session.PendingSubAgentToolCalls(ctx, caller, confirmations)
	if err != nil {
		return err
	}
	calls = w.prepared(calls, delegated)
	for _, call := range calls {
		w.event(sessions.Event{Type: sessions.EventToolCall, CallID: call.CallID, Tool: call.Tool})
	}
	if err := start(ctx, delegated); err != nil || len(calls) == 0 {
		return err // without a call, a person must be asked about the first one now
	}
	before := w.results()
	if _, err := run(summarize.Counting(ctx, &w.usage), caller, confirmations, delegated...); err != nil {
		return err
	}
	w.report(before)
	return nil
}

// prepared are the calls before the first one whose sub-agent is not prepared.
func (w *work) prepared(calls []sessions.Part, delegated []*sessions.PendingSubAgentToolCall) []sessions.Part {
	for i, call := range calls {
		tool, _ := w.session.Tool(call.Tool)
		if tool.SubAgent != nil && !slices.ContainsFunc(delegated, func(p *sessions.PendingSubAgentToolCall) bool { return p.ToolCallID() == call.CallID }) {
			return calls[:i]
		}
	}
	return calls
}

// start gives tasks to their sub-agents. No tool of the gateway waits for its sub-agent.
func start(ctx context.Context, delegated []*sessions.PendingSubAgentToolCall) error {
	for _, call := range delegated {
		if err := call.Start(ctx); err != nil {
			return err
		}
		if !call.IsComplete() {
			call.Fail(errors.New("this tool waits for its sub-agent, which the gateway does not do"))
		}
	}
	return nil
}

// report emits the events of the calls of the answer that have got their results, and counts them.
func (w *work) report(before int) {
	for _, part := range w.session.Last().Parts[before:] {
		if part.Type != sessions.PartToolResult {
			continue // even the answer's first call has to wait
		}
		result := "ok"
		if part.Error {
			result = "error"
		}
		w.attached = w.attached || part.Tool == talk.AttachName
		w.metrics.tools.WithLabelValues(w.counted(part.Tool), result).Inc()
		w.event(sessions.Event{Type: sessions.EventToolDone, CallID: part.CallID, Tool: part.Tool, Failed: part.Error})
	}
}

// counted is the name under which calls of a tool are counted. Models and clients name functions as they like, so those of a client
// have one name, and those that do not exist have one.
func (w *work) counted(tool string) string {
	t, ok := w.session.Tool(tool)
	switch {
	case !ok:
		return "unknown"
	case t.Client != "":
		return "client_function"
	}
	return tool
}

// results is how many calls of the answer have results.
func (w *work) results() int {
	if last := w.session.Last(); last.Role == sessions.RoleToolResult {
		return len(last.Parts)
	}
	return 0
}
