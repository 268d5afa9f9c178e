package sessions

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"sluice/policy/flow"
)

// Monitor judges what a session's tools do, below them: no tool is run, and nothing that one gives is
// learnt, without its word. All but Reach are asked with the session locked, so that the answer is about what the session has
// learnt by then: they must not wait for anything, nor call the session.
type Monitor interface {
	// Reach looks up where a call's words go. It may wait for the store, so it is asked while the session is not locked; it
	// ends with ctx. What it gives is in the [MonitoredCall] of Call.
	Reach(ctx context.Context, c MonitoredCall) Reach
	// Call judges a call that may run. Without effects nothing is counted and nothing is to be recorded.
	Call(c MonitoredCall, effects bool) CallVerdict
	// Response judges what a call gave before the session learns it, and gives what it may learn.
	Response(c MonitoredCall, r Response) (Response, []AuditEntry)
	// Model reports whether a model may be told what the session has learnt.
	Model(record Record, model Model) (may bool, entries []AuditEntry)
}

// MonitoredCall is a call as the monitor sees it.
type MonitoredCall struct {
	Record  Record    // of the session; its taint is live
	Message MessageID // of the answer that asks for the call
	CallID  string    // unique in that answer alone: the model gives it
	Tool    Tool
	Args    json.RawMessage // a JSON object, as the model wrote it
	// Approved: somebody has said yes to this call.
	Approved bool
	// Reach is what [Monitor.Reach] said of this call, shortly before.
	Reach Reach
}

// Ruling is what becomes of a call.
type Ruling int

// The rulings, mildest first.
const (
	RulingRun Ruling = iota
	RulingAsk
	RulingRefuse
)

// CallVerdict is what the monitor says of a call.
type CallVerdict struct {
	Ruling Ruling
	Reason string          // of an ask, for who decides; of a refusal, for the model
	Terms  Terms           // of an ask
	Args   json.RawMessage // what the tool gets
	Audit  []AuditEntry    // with effects
}

// Terms say who may decide about what waits for somebody's word, a call or a text on its way out, and until when.
type Terms struct {
	// Approvers: who approves is in each of these lists of principals; an empty list stands for the
	// owners. None at all is the owners, too.
	Approvers [][]string    `json:"approvers,omitempty"`
	Timeout   time.Duration `json:"timeout,omitempty"` // 0: as long as it usually waits
	// Lapse: no decision in time is a yes.
	Lapse bool `json:"lapse,omitempty"`
	// Rules are the rules and checks that ask, for who decides.
	Rules []string `json:"rules,omitempty"`
	// Level is the most that a yes may let the session learn or tell. Invalid: it is not known, and may be anything.
	Level flow.Level `json:"level,omitzero"`
}

// Same reports whether the same people may decide, and silence means the same. Terms that were stored without a level are not asked for theirs.
func (t Terms) Same(other Terms) bool {
	return (t.Level == other.Level || !t.Level.Valid() || !other.Level.Valid()) && t.Lapse == other.Lapse && slices.EqualFunc(t.Approvers, other.Approvers, slices.Equal[[]string])
}

// Response is what a call gave, or why it failed.
type Response struct {
	Text  string
	Error bool
	Label flow.Label // of what was read
}

// SetMonitor gives the session the monitor of a run; nil takes it away. Without one only tools run that stay
// inside the gateway.
func (s *Session) SetMonitor(m Monitor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.monitor = m
}

// Audit notes entries that are stored with what the session stores next.
func (s *Session) Audit(entries ...AuditEntry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.audit = append(s.audit, entries...)
}

// insideOnly is the monitor of a session that was given none.
type insideOnly struct{}

var _ Monitor = insideOnly{}

const noMonitor = "refused: no monitor stands between this session and the outside"

// Reach implements [Monitor]. No look-up is needed: its Call does not ask for it.
func (insideOnly) Reach(context.Context, MonitoredCall) Reach { return ReachUnknown }

// Call implements [Monitor].
func (insideOnly) Call(c MonitoredCall, _ bool) CallVerdict {
	if c.Tool.Flow.Outside() {
		return CallVerdict{Ruling: RulingRefuse, Reason: noMonitor}
	}
	return CallVerdict{Args: c.Args}
}

// Response implements [Monitor]. What is above the session's clearance is not for it.
func (insideOnly) Response(c MonitoredCall, r Response) (Response, []AuditEntry) {
	if !r.Label.FlowsTo(c.Record.Clearance) {
		return Response{Text: "refused: this is above what the session may know", Error: true, Label: c.Record.Taint}, nil
	}
	return r, nil
}

// Model implements [Monitor].
func (insideOnly) Model(record Record, model Model) (bool, []AuditEntry) {
	return record.Taint.FlowsTo(ModelLevel(model)), nil
}

// monitored is the monitor that counts.
func (s *state) monitored() Monitor {
	if s.monitor == nil {
		return insideOnly{}
	}
	return s.monitor
}

// verdict asks the monitor about a call. Arguments that can't be read are the tool's to refuse.
func (s calls) verdict(d *decision, approved, effects bool) CallVerdict {
	args, err := argsOf(d.call)
	if err != nil {
		return CallVerdict{Ruling: RulingRefuse, Reason: err.Error()}
	}
	v := s.monitored().Call(MonitoredCall{
		Record: s.record, Message: s.asks(), CallID: d.call.CallID, Tool: d.tool, Args: args, Approved: approved, Reach: d.reach,
	}, effects)
	if effects {
		s.audit = append(s.audit, v.Audit...)
	}
	return v
}

// response lets the monitor see what a call gave. It is at least as secret as the session, whose words its arguments are: a result may
// repeat them.
func (s calls) response(call Part, tool Tool, args json.RawMessage, r Response, trail *Trail) Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.audit = append(s.audit, trail.take()...)
	if !r.Label.Valid() {
		r.Label = flow.Top() // a label that was lost
	}
	r.Label = r.Label.Join(s.record.Taint)
	r, entries := s.monitored().Response(MonitoredCall{Record: s.record, Message: s.asks(), CallID: call.CallID, Tool: tool, Args: args}, r)
	s.audit = append(s.audit, entries...)
	return r
}

// Trail collects what the operator is to know of a call that its caller was not told. It is safe for concurrent use; a nil one forgets.
type Trail struct {
	mu      sync.Mutex
	entries []AuditEntry
}

// Add notes an entry.
func (t *Trail) Add(e AuditEntry) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entries = append(t.entries, e)
}

// take gives what was noted and forgets it.
func (t *Trail) take() []AuditEntry {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := t.entries
	t.entries = nil
	return taken
}
