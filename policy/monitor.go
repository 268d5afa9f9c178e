package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"sluice/policy/flow"
	"sluice/sessions"
)

// Escalation says what happens to a read that would raise a session above its own conversation, so that it could no
// longer answer there.
type Escalation string

// The escalations.
const (
	EscalationAsk  Escalation = "ask"  // an owner is asked first
	EscalationAuto Escalation = "auto" // the session rises
	EscalationDeny Escalation = "deny" // the read is refused
)

// Monitor decides what a session may read and write: by the fixed checks of information flow first, which no rule
// overrules, and then by the rules. It is immutable and safe for concurrent use; a new configuration is a new
// Monitor.
type Monitor struct {
	rules      *Rules
	sink       func(sessions.Route) flow.Level
	escalation Escalation
	secrets    *Secrets
	now        func() time.Time
}

// MonitorConfig has the dependencies of a Monitor. All fields but Rules and Secrets are required.
type MonitorConfig struct {
	Rules *Rules
	// SinkLevel is the highest level that may be sent on a route.
	SinkLevel  func(sessions.Route) flow.Level
	Escalation Escalation
	Secrets    *Secrets
	Now        func() time.Time
}

// NewMonitor creates a Monitor.
func NewMonitor(c MonitorConfig) (*Monitor, error) {
	switch c.Escalation {
	case EscalationAsk, EscalationAuto, EscalationDeny:
	default:
		return nil, fmt.Errorf("policy.escalation: %q: want ask, auto or deny", c.Escalation)
	}
	if c.SinkLevel == nil || c.Now == nil {
		return nil, errors.New("new monitor: a required field is not set")
	}
	return &Monitor{rules: c.Rules, sink: c.SinkLevel, escalation: c.Escalation, secrets: c.Secrets, now: c.Now}, nil
}

// Subject is a reader or writer.
type Subject struct {
	Taint     flow.Label // what it has learnt
	Clearance flow.Level // the highest level that it may ever reach
}

// SubjectOf is a session as a subject.
func SubjectOf(r sessions.Record) Subject { return Subject{r.Taint, r.Clearance} }

// CallerOf is the caller of a tool as a subject.
func CallerOf(c sessions.Caller) Subject { return Subject{c.Taint, c.Clearance} }

// May reports whether a subject may read an object without rising: the object is not above the subject's label.
func (s Subject) May(at Checkpoint, object flow.Label) bool {
	return at.skipped() || object.Valid() && flow.CanFlow(object.Level(), s.Taint.Level())
}

// MayLearn reports whether a subject may read an object and rise to its level.
func (s Subject) MayLearn(at Checkpoint, object flow.Label) bool {
	return at.skipped() || object.FlowsTo(s.Clearance)
}

// MayTell reports whether a subject's data may reach a place of a level.
func (s Subject) MayTell(at Checkpoint, sink flow.Level) bool {
	return at.skipped() || s.Taint.FlowsTo(sink)
}

// Call is a tool's call by a run.
type Call struct {
	sessions.MonitoredCall
	Route sessions.Route // of the run
	User  string         // the speaker, as a principal; may be empty
	Owner bool
}

// FirstRoute is the first route that is not zero, or the zero value.
func FirstRoute(routes ...sessions.Route) sessions.Route {
	for _, r := range routes {
		if !r.IsZero() {
			return r
		}
	}
	return sessions.Route{}
}

// Ask decides about a call that is about to run: what it sends outside, what it reads, to which level it would raise
// the session, and whether text from strangers would reach another conversation; then the rules of each of its hooks.
// Without effects nothing is counted. resolved are the arguments for the tool.
func (m *Monitor) Ask(c Call, effects bool) (d Decision, resolved json.RawMessage) {
	d = allowedDecision()
	m.fixed(&c, &d)
	in := m.input(&c)
	names := m.secrets.named(c.Args)
	for _, hook := range hooksOf(&c) {
		in.Hook = hook
		if hook != SecretAccess {
			m.askRules(CheckRules, &in, &d, effects)
			continue
		}
		for _, name := range names {
			m.secret(&c, &in, &d, name, effects)
		}
	}
	if c.Tool.AsWritten {
		d.takeNothing()
	}
	if d.Action == Hold && c.Approved {
		d.Approve("the person who was asked")
	}
	if d.Action == Block || d.Action == Hold {
		return d, nil
	}
	if c.Tool.AsWritten {
		return d, c.Args
	}
	args, err := d.RedactedArgs(c.Args)
	if err == nil && c.Tool.Client == "" { // what clients get is stored, so they get the names of secrets
		args, err = m.secrets.resolved(args, names)
	}
	if err != nil {
		d.tighten(Block, "its arguments can't be read: "+err.Error())
		return d, nil
	}
	return d, args
}

// askRules adds the results of the rules of an input's hook.
func (m *Monitor) askRules(at Checkpoint, in *Input, d *Decision, effects bool) {
	if !at.skipped() {
		m.rules.Decide(in, d, effects)
	}
}

// hooksOf lists the hooks of a call in their order, with the hook for secrets once per secret that the call names.
func hooksOf(c *Call) []Hook {
	hooks := []Hook{PreToolCall}
	if c.Tool.Remote != nil {
		hooks = append(hooks, MCPToolCall)
	}
	if c.Tool.Flow.Writes == sessions.FlowAgent {
		hooks = append(hooks, AgentInvocation)
	}
	return append(hooks, SecretAccess)
}

// fixed adds the checks that no configuration can turn off.
func (m *Monitor) fixed(c *Call, d *Decision) {
	f, who := c.Tool.Flow, SubjectOf(c.Record)
	if f.Writes == sessions.FlowOutside {
		ok := who.MayTell(CheckSink, f.Sink)
		d.addCheck(RuleFlow, !ok, Block, "session "+who.Taint.Level().String()+", "+c.Tool.Spec.Name+" "+f.Sink.String())
		if !ok {
			d.tighten(Block, fmt.Sprintf("this conversation has learned %s information, and %s may receive at most %s information: an owner can raise %s; %s",
				who.Taint.Level(), c.Tool.Spec.Name, f.Sink, f.Setting, StartOverHint(f.Sink)))
		}
	}
	if f.Reads == sessions.FlowOutside {
		m.reads(c, who, d)
	}
	if asksReach(c) && !CheckBeyond.skipped() {
		beyond, reason := c.Reach != sessions.ReachHere, "this conversation contains text from strangers, and the call reaches beyond the conversation"
		if c.Reach == sessions.ReachUnknown {
			reason = "this conversation contains text from strangers, and it is unknown whether the call reaches beyond the conversation"
		}
		d.addCheck(RuleTrust, beyond, Hold, "text from strangers may have led to it")
		if beyond {
			d.hold(RuleTrust, Rule{})
			d.tighten(Hold, reason)
		}
	}
}

// asksReach reports whether the destination of a call matters, because strangers may have influenced it.
func asksReach(c *Call) bool {
	return c.Tool.Beyond != nil && c.Record.Taint.Trust() != flow.Trusted
}

// reachTimeout bounds the lookup of a call's destination.
const reachTimeout = 5 * time.Second

// Reach looks up the destination of a call for [Monitor.Ask], if it matters. It may wait for the store, so callers
// must not hold a lock. The error says why the destination is unknown.
func (m *Monitor) Reach(ctx context.Context, c Call) (sessions.Reach, error) {
	if !asksReach(&c) {
		return sessions.ReachUnknown, nil
	}
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	beyond, err := c.Tool.Beyond(ctx, m.caller(&c), c.Args)
	switch {
	case err != nil:
		return sessions.ReachUnknown, fmt.Errorf("look up where a call of %s goes: %w", c.Tool.Spec.Name, err)
	case beyond:
		return sessions.ReachBeyond, nil
	}
	return sessions.ReachHere, nil
}

// StartOverHint says what /new does for a conversation whose label is too high for a place of a level: it starts over
// at the level of the conversation, which may be too high as well.
func StartOverHint(place flow.Level) string {
	return "/new starts over, which helps if the messages here are not themselves above " + place.String()
}

// reads adds the checks of what a call reads.
func (m *Monitor) reads(c *Call, who Subject, d *Decision) {
	source := c.Tool.Flow.Source
	ok := who.MayLearn(CheckClearance, source)
	d.addCheck(RuleClearance, !ok, Block, "source "+source.Level().String()+", clearance "+who.Clearance.String())
	if !ok {
		d.tighten(Block, fmt.Sprintf("%s returns %s information, and this conversation's clearance is %s", c.Tool.Spec.Name, source.Level(), who.Clearance))
		return
	}
	rises, carries := m.rises(who, c.Route, source)
	action := map[Escalation]Action{EscalationAsk: Hold, EscalationAuto: Allow, EscalationDeny: Block}[m.escalation]
	d.addCheck(RuleEscalation, rises, action, "source "+source.Level().String()+", conversation "+carries.String())
	if !rises || action == Allow {
		return
	}
	if action == Hold {
		d.hold(RuleEscalation, Rule{})
	}
	d.tighten(action, fmt.Sprintf("%s returns %s information, and this conversation may receive at most %s: the reply would be withheld here",
		c.Tool.Spec.Name, source.Level(), carries))
}

// rises reports whether learning a label raises a session above what its conversation carries.
func (m *Monitor) rises(who Subject, route sessions.Route, object flow.Label) (bool, flow.Level) {
	carries := flow.Restricted // a run without a conversation
	if !route.IsZero() {
		carries = m.sink(route)
	}
	raised := who.Taint.Join(object)
	return !CheckEscalation.skipped() && raised.Level() != who.Taint.Level() && !raised.FlowsTo(carries), carries
}

// ApprovalLevel is the highest level that a call may let its session learn or send: the session's own level, that of
// external data that the call reads, and that of the secrets that it names. Data of other sessions and memories may
// have any level up to the session's clearance.
func (m *Monitor) ApprovalLevel(c sessions.MonitoredCall) flow.Level {
	f, level := c.Tool.Flow, c.Record.Taint.Level()
	switch {
	case f.Reads == sessions.FlowOutside:
		level = higher(level, f.Source.Level())
	case f.Reads != sessions.FlowNone:
		level = higher(level, c.Record.Clearance)
	}
	if f.Writes == sessions.FlowAgent {
		level = higher(level, c.Record.Clearance)
	}
	for _, name := range m.secrets.named(c.Args) {
		if secret, known := m.secrets.byName[name]; known {
			level = higher(level, secret.Level)
		}
	}
	return level
}

// higher is the higher of two levels; invalid if either is.
func higher(a, b flow.Level) flow.Level {
	if !b.Valid() || flow.CanFlow(a, b) {
		return b
	}
	return a
}

// caller is the caller, as far as the call names it.
func (m *Monitor) caller(c *Call) sessions.Caller {
	return sessions.Caller{
		Session: c.Record.ID, Key: c.Record.Key, Agent: c.Record.Agent, CallID: c.CallID,
		Taint: c.Record.Taint, Clearance: c.Record.Clearance, Route: c.Route, Owner: c.Owner,
	}
}

// input is a call as rules see it.
func (m *Monitor) input(c *Call) Input {
	in := Input{ID: strings.Join([]string{string(c.Record.ID), string(c.Message), c.CallID}, "/"), Hook: PreToolCall, Now: m.now(), Session: SessionOf(c.Record)}
	in.Session.SpokenTo(c.Route, c.User, c.Owner)
	in.Tool = ToolInput{Name: c.Tool.Spec.Name, Reads: string(c.Tool.Flow.Reads), Writes: string(c.Tool.Flow.Writes), Sink: c.Tool.Flow.Sink.Rank()}
	if c.Tool.Remote != nil {
		in.Tool.Server = c.Tool.Remote.Server
	}
	in.Tool.Args = ArgsOf(c.Args)
	if c.Tool.Flow.Writes == sessions.FlowAgent {
		in.Agent = invocation(&in.Tool)
	}
	return in
}

// invocation is the target of a call to another agent, as the model wrote it.
func invocation(t *ToolInput) AgentInput {
	for _, name := range []string{"sessionKey", "agentId"} {
		if to, ok := t.Args[name].(string); ok {
			return AgentInput{Kind: t.Name, To: to}
		}
	}
	return AgentInput{Kind: t.Name}
}

// Answer decides about a call's result before its session learns it, and returns what the session may learn.
func (m *Monitor) Answer(c Call, r sessions.Response) (Decision, sessions.Response) {
	d := allowedDecision()
	who, f := SubjectOf(c.Record), c.Tool.Flow
	expected := who.Taint
	if f.Reads == sessions.FlowOutside {
		r.Label = r.Label.Join(f.Source)
		expected = expected.Join(f.Source)
	}
	if !who.MayLearn(CheckResponse, r.Label) {
		d.addCheck(RuleClearance, true, Block, "answer "+r.Label.Level().String()+", clearance "+who.Clearance.String())
		d.tighten(Block, "its result is above this conversation's clearance")
	}
	if above, carries := m.rises(Subject{expected, who.Clearance}, c.Route, r.Label); above && m.escalation != EscalationAuto {
		d.addCheck(RuleEscalation, true, Block, "answer "+r.Label.Level().String()+", conversation "+carries.String())
		d.tighten(Block, "its result is above the level of this conversation: an owner can send /raise "+r.Label.Level().String()+" first")
	}
	in := m.input(&c)
	in.Hook, in.Text = PostToolResponse, r.Text
	m.askRules(CheckRules, &in, &d, true)
	if d.Action == Block {
		return d, sessions.Response{Text: "withheld: " + d.Reason, Error: true, Label: who.Taint}
	}
	r.Text = m.secrets.Redact(d.Redacted(r.Text))
	return d, r
}
