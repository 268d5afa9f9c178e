package sessions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"github.com/google/uuid"

	"sluice/policy/flow"
)

// PendingSubAgentToolCall is a call of a sub-agent tool whose child session is
// prepared. The caller runs the child to its answer, calls Complete and hands it to
// [Session.ConfirmAndExecuteTools]. It is safe for concurrent use.
type PendingSubAgentToolCall struct {
	parent  *state
	session *Session // nil if it could not be prepared
	callID  string

	mu       sync.Mutex
	complete bool
	failure  error
}

// Session is the child; nil if it could not be prepared: the call is then complete, and its result says why.
func (p *PendingSubAgentToolCall) Session() *Session { return p.session }

// ToolCallID is the id of the call that the child works.
func (p *PendingSubAgentToolCall) ToolCallID() string { return p.callID }

// Complete says that the child has come to its answer. Saying it again does nothing.
func (p *PendingSubAgentToolCall) Complete() { p.Fail(nil) }

// Fail completes the call with an error, which the model reads instead of an answer.
func (p *PendingSubAgentToolCall) Fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.complete {
		p.complete, p.failure = true, err
	}
}

// IsComplete reports whether Complete or Fail was called.
func (p *PendingSubAgentToolCall) IsComplete() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.complete
}

// result is the child's answer, as secret as all that the child has learnt.
func (p *PendingSubAgentToolCall) result() Part {
	p.mu.Lock()
	failure := p.failure
	p.mu.Unlock()
	label := p.parent.current().Taint
	if p.session != nil {
		label = label.Join(p.session.Taint())
	}
	if failure == nil {
		last := p.session.Last()
		if text := last.Text(); last.Role == RoleAssistant && text != "" && len(last.ToolCalls()) == 0 {
			return Part{Text: text, Label: label}
		}
		failure = errors.New("the sub-agent ended without an answer")
	}
	return Part{Text: failure.Error(), Error: true, Label: label}
}

// PendingSubAgentToolCalls prepares a child session for each open call of a
// sub-agent tool that the session's mode does not refuse; nil if there are none. Asked again, it gives the same ones.
//
// A child's id and key follow from the call, so that after a restart the child that
// was stored is loaded and continued. A sub-agent starts no sub-agents of its own.
func (s *Session) PendingSubAgentToolCalls(ctx context.Context) ([]*PendingSubAgentToolCall, error) {
	var pending []*PendingSubAgentToolCall
	for _, call := range s.PendingToolCalls() {
		tool, ok := s.Tool(call.Tool)
		if !ok || tool.SubAgent == nil || s.calls.refuses(call) {
			continue
		}
		p, err := s.subAgents.child(ctx, tool, call)
		if err != nil {
			return nil, fmt.Errorf("prepare sub-agent of tool call %q: %w", call.CallID, err)
		}
		pending = append(pending, p)
	}
	return pending, nil
}

func (s calls) refuses(call Part) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ruling(call, ReachUnknown).Ruling == RulingRefuse // where it goes can only be asked about
}

// children prepares the children that work calls of sub-agent tools.
type children struct {
	*state
	calls calls
}

// child gives the call's child, made at the first time. An error is the store's.
func (s children) child(ctx context.Context, tool Tool, call Part) (*PendingSubAgentToolCall, error) {
	s.mu.Lock()
	p, ok := s.children[call.CallID]
	s.mu.Unlock()
	if ok {
		return p, nil
	}
	p = &PendingSubAgentToolCall{parent: s.state, callID: call.CallID}
	plan, err := s.plan(ctx, tool, call)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		p.Fail(err)
	} else if p.session, err = s.openChild(ctx, call, plan); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.children[call.CallID] = p
	return p, nil
}

func (s children) plan(ctx context.Context, tool Tool, call Part) (SubAgentPlan, error) {
	caller := s.calls.completed(Caller{}, call)
	if caller.Key.SubAgent() {
		return SubAgentPlan{}, errors.New("a sub-agent can't start sub-agents")
	}
	args, err := argsOf(call)
	if err != nil {
		return SubAgentPlan{}, err
	}
	plan, err := tool.SubAgent(ctx, caller, args)
	if err != nil {
		return plan, err
	}
	if plan.Task == "" {
		return plan, errors.New("the sub-agent has no task")
	}
	record := s.current()
	if clearance := narrowClearance(record.Clearance, plan.Clearance); !record.Taint.FlowsTo(clearance) {
		return plan, fmt.Errorf("the sub-agent may know up to %s, and this conversation has learnt %s", clearance, record.Taint.Level())
	}
	return plan, nil
}

// openChild makes the call's child, or loads it where an earlier process has stored it.
func (s children) openChild(ctx context.Context, call Part, plan SubAgentPlan) (*Session, error) {
	record := s.childRecord(call, plan)
	stored, err := s.store.Session(ctx, record.ID)
	var child *Session
	switch {
	case errors.Is(err, ErrNotFound):
		child = NewSession(s.store, record, s.now)
	case err != nil:
		return nil, err
	default:
		if child, err = LoadSession(ctx, s.store, stored, s.now); err != nil {
			return nil, err
		}
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
	agent := plan.Agent.ID
	if agent == "" {
		agent = parent.Agent
	}
	id, key := childName(parent.ID, s.calls.asking(), call.CallID, agent)
	files := parent.FileAccess
	if plan.Files != nil {
		files = files.Narrow(*plan.Files)
	}
	now := s.now()
	return Record{
		ID: id, Key: key, Agent: agent, Partition: parent.Partition, Taint: parent.Taint,
		Clearance: narrowClearance(parent.Clearance, plan.Clearance), FileAccess: files,
		Title: flow.NewText(plan.Description, parent.Taint), Created: now, LastActivity: now,
	}
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

// childName derives a child's id and key from the call, for each answer that asks again.
func childName(parent ID, asking MessageID, callID, agent string) (ID, Key) {
	name := sha256.Sum256([]byte(string(parent) + "\x00" + string(asking) + "\x00" + callID))
	id := uuid.NewHash(sha256.New(), uuid.Nil, name[:], 8)
	return ID("sess_" + hex.EncodeToString(name[:6])), SubAgentKey(agent, id.String())
}

func narrowClearance(parent, plan flow.Level) flow.Level {
	if !plan.Valid() {
		return parent
	}
	return flow.Min(parent, plan)
}
