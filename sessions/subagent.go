package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"sluice/policy/flow"
	"sluice/sessions/message"
	"sluice/sessions/record"
)

// PendingSubAgentToolCall is a call of a sub-agent tool that may run and whose child session is prepared. The caller calls
// Start, runs the child to its answer if the call is not complete then, calls Complete and hands it to
// [Session.ConfirmAndExecuteTools]. It is safe for concurrent use.
type PendingSubAgentToolCall struct {
	parent   *state
	decision decision
	session  *Session // nil if the call was refused or the child could not be prepared
	start    func(ctx context.Context, child Record) (ToolResult, error)
	trail    *Trail

	mu       sync.Mutex
	complete bool
	given    *Response // the result, if it is not the child's answer
}

// Session is the child. It is nil if the call was refused or the child could not be prepared: the call is then complete,
// and its result says why.
func (p *PendingSubAgentToolCall) Session() *Session { return p.session }

// ToolCallID is the id of the call that the child works.
func (p *PendingSubAgentToolCall) ToolCallID() string { return p.decision.call.CallID }

// Start calls the plan's Start, whose result completes the call. It does nothing if the plan has no Start or the call is
// complete. The error is that ctx ended; the call is then still open.
func (p *PendingSubAgentToolCall) Start(ctx context.Context) error {
	if p.start == nil || p.IsComplete() {
		return nil
	}
	child := p.session.Record()
	r := p.decision.run(ctx, child.Taint, func(ctx context.Context) (ToolResult, error) { return p.start(ctx, child) })
	if ctx.Err() != nil && r.Error {
		return p.decision.ended(ctx)
	}
	p.end(&r)
	return nil
}

// Complete says that the child has answered. Only the first of Start, Complete and Fail counts.
func (p *PendingSubAgentToolCall) Complete() { p.end(nil) }

// Fail completes the call with an error, which the model reads instead of an answer.
func (p *PendingSubAgentToolCall) Fail(err error) {
	p.end(&Response{Text: err.Error(), Error: true, Label: p.label()})
}

// end completes the call, and reports whether nothing had before.
func (p *PendingSubAgentToolCall) end(with *Response) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.complete {
		return false
	}
	p.complete, p.given = true, with
	return true
}

// IsComplete reports whether the call has its result.
func (p *PendingSubAgentToolCall) IsComplete() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.complete
}

// result is what the call was completed with, else the child's answer.
func (p *PendingSubAgentToolCall) result() Response {
	p.mu.Lock()
	given := p.given
	p.mu.Unlock()
	if given != nil {
		return *given
	}
	last := p.session.Last()
	if text := last.Text(); last.Role == RoleAssistant && text != "" && len(last.ToolCalls()) == 0 {
		return Response{Text: text, Label: p.label()}
	}
	return Response{Text: "the sub-agent ended without an answer", Error: true, Label: p.label()}
}

// label is as secret as everything that the parent and the child have learned.
func (p *PendingSubAgentToolCall) label() flow.Label {
	label := p.parent.current().Taint
	if p.session != nil {
		label = label.Join(p.session.Taint())
	}
	return label
}

// PendingSubAgentToolCalls prepares a child session for each of the open calls of sub-agent tools that come first, before
// any other open call: a child knows what the calls before it have taught its parent. It gives nil if another call comes
// first. Asked again, it gives the same ones; one that is refused by then, and is not complete, does not start.
//
// A call takes effect when its child starts. So it is decided about, judged by the [Monitor] and stored before it is given,
// as [Session.ConfirmAndExecuteTools] does with other calls; one that is refused is complete. A call that a person
// must decide about and that has no confirmation is not given, nor are those behind it.
//
// A child's id and key follow from the call, so that after a restart the child that
// was stored is loaded and continued. A sub-agent starts no sub-agents of its own.
func (s *Session) PendingSubAgentToolCalls(ctx context.Context, caller Caller, confirmations []Confirmation) ([]*PendingSubAgentToolCall, error) {
	if !s.subAgents.next() {
		return nil, nil
	}
	decisions, err := s.calls.decide(ctx, subAgentCalls, confirmations, nil)
	if err != nil && !errors.Is(err, ErrNoToolCall) {
		return nil, err
	}
	var pending []*PendingSubAgentToolCall
	for _, d := range decisions {
		p, err := s.subAgents.prepare(ctx, caller, d)
		if err != nil {
			return nil, fmt.Errorf("prepare sub-agent of tool call %q: %w", d.call.CallID, err)
		}
		if p == nil {
			break
		}
		pending = append(pending, p)
	}
	return pending, nil
}

// children prepares the children that work calls of sub-agent tools.
type children struct {
	*state
	calls calls
}

// next reports whether the first open call is one of a sub-agent tool.
func (s children) next() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := message.OpenCalls(s.messages)
	if len(open) == 0 {
		return false
	}
	tool, _ := s.tool(open[0].Tool)
	return tool.SubAgent != nil
}

// prepare gives a call's child, made at the first time; nil if a person must be asked about the call first.
func (s children) prepare(ctx context.Context, caller Caller, d decision) (*PendingSubAgentToolCall, error) {
	if d.child != nil {
		s.refuse(d)
		return d.child, nil
	}
	if wait, err := s.calls.begin(ctx, &d); err != nil || wait {
		return nil, err
	}
	p := &PendingSubAgentToolCall{parent: s.state, decision: d, trail: &Trail{}, complete: !d.approved}
	if d.approved {
		if err := s.make(ctx, p, caller); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.children[d.call.CallID] = p
	return p, nil
}

// refuse completes a prepared call that a confirmation has refused since.
func (s children) refuse(d decision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !d.approved && d.child.end(&Response{Text: d.reason, Error: true, Label: d.reasonLabel()}) {
		then := &d.child.decision
		then.approved, then.reason, then.said = false, d.reason, d.said
	}
}

// make makes the child. An error of the plan is the call's result; another one is the store's, or that ctx ended.
func (s children) make(ctx context.Context, p *PendingSubAgentToolCall, caller Caller) error {
	caller = s.calls.completed(caller, p.decision.call)
	caller.Trail = p.trail
	plan, err := s.plan(ctx, caller, p.decision)
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		p.Fail(err)
		return nil
	}
	p.start = plan.Start
	p.session, err = s.openChild(ctx, p.decision.call, plan)
	return err
}

func (s children) plan(ctx context.Context, caller Caller, d decision) (SubAgentPlan, error) {
	if caller.Key.SubAgent() {
		return SubAgentPlan{}, errors.New("a sub-agent can't start sub-agents")
	}
	plan, err := d.tool.SubAgent(ctx, caller, d.args)
	if err != nil {
		return plan, err
	}
	if plan.Task == "" {
		return plan, errors.New("the sub-agent has no task")
	}
	record := s.current()
	if clearance := record.ChildClearance(plan.Clearance); !record.Taint.FlowsTo(clearance) {
		return plan, fmt.Errorf("the sub-agent may know up to %s, and this conversation has learned %s", clearance, record.Taint.Level())
	}
	return plan, nil
}

// openChild makes the call's child, or loads the one that an earlier process has stored. The plan's Start, if any,
// stores the child and gives it its task.
func (s children) openChild(ctx context.Context, call Part, plan SubAgentPlan) (*Session, error) {
	record := s.childRecord(call, plan)
	child := NewSession(s.store, record, s.now)
	if plan.Start != nil {
		s.equip(child, plan)
		return child, nil
	}
	stored, err := s.store.Session(ctx, record.ID)
	if err == nil {
		if child, err = LoadSession(ctx, s.store, stored, s.now); err != nil {
			return nil, err
		}
	} else if !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	s.equip(child, plan)
	if len(child.Messages()) == 0 {
		child.Append(Message{Role: RoleUser, Parts: []Part{TextPart(plan.Task, record.Taint)}})
	}
	return child, nil
}

// equip gives a child what is not stored of it: agent, model, and a permission that is not above the parent's.
func (s children) equip(child *Session, plan SubAgentPlan) {
	s.mu.Lock()
	model, permission, taint := s.model, s.permission, s.record.Taint
	s.mu.Unlock()
	if plan.Model != nil {
		model = plan.Model
	}
	if plan.Agent.ID == "" {
		plan.Agent.ID = child.Record().Agent
	}
	child.SetAgent(plan.Agent)
	child.SetModel(model)
	child.mu.Lock()
	defer child.mu.Unlock()
	child.permission = permission.Narrow(plan.Permission)
	child.raise(taint)
}

// childRecord is a new child's record.
func (s children) childRecord(call Part, plan SubAgentPlan) Record {
	parent := s.current()
	c := Child{
		Agent: cmp.Or(plan.Agent.ID, parent.Agent), Title: plan.Description, Label: parent.Taint,
		Clearance: plan.Clearance, Files: plan.Files, Now: s.now(),
	}
	if plan.Model != nil {
		c.Model = plan.Model.Name()
	}
	c.ID, c.Key = record.ChildName(parent.ID, s.calls.asking(), call.CallID, c.Agent)
	return parent.NewChild(c)
}

// asking is the message whose calls are open.
func (s calls) asking() MessageID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asks()
}

// asks is asking, with the session locked.
func (s *state) asks() MessageID {
	if last := s.last(); last != nil && last.Role == RoleToolResult {
		return last.Parent
	}
	return s.record.Head
}
