package sessions

import (
	"context"
	"encoding/json"

	"sluice/policy/flow"
)

// SetMonitor sets the monitor of a run; nil removes it. Without a monitor, only tools that stay inside the gateway run.
func (s *Session) SetMonitor(m Monitor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.monitor = m
}

// Audit adds entries to the session's next commit.
func (s *Session) Audit(entries ...AuditEntry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.audit = append(s.audit, entries...)
}

// insideOnly is the monitor of a session without one.
type insideOnly struct{}

var _ Monitor = insideOnly{}

const noMonitor = "refused: this session has no monitor"

// Reach implements [Monitor]. No look-up is needed: its Call does not ask for it.
func (insideOnly) Reach(context.Context, MonitoredCall) Reach { return ReachUnknown }

// Call implements [Monitor].
func (insideOnly) Call(c MonitoredCall, _ bool) CallVerdict {
	if c.Tool.Flow.Outside() {
		return CallVerdict{Ruling: RulingRefuse, Reason: noMonitor}
	}
	return CallVerdict{Args: c.Args}
}

// Response implements [Monitor]. It refuses a result above the session's clearance.
func (insideOnly) Response(c MonitoredCall, r Response) (Response, []AuditEntry) {
	if !r.Label.FlowsTo(c.Record.Clearance) {
		return Response{Text: "refused: this is above the session's clearance", Error: true, Label: c.Record.Taint}, nil
	}
	return r, nil
}

// Model implements [Monitor].
func (insideOnly) Model(record Record, model Model) (bool, []AuditEntry) {
	return record.Taint.FlowsTo(ModelLevel(model)), nil
}

// monitored returns the monitor in effect.
func (s *state) monitored() Monitor {
	if s.monitor == nil {
		return insideOnly{}
	}
	return s.monitor
}

// verdict asks the monitor about a call. The tool refuses arguments that can't be read.
func (s calls) verdict(d *decision, approved, effects bool) CallVerdict {
	args, err := d.call.Arguments()
	if err != nil {
		return CallVerdict{Ruling: RulingRefuse, Reason: err.Error()}
	}
	v := s.monitored().Call(MonitoredCall{
		Record: s.record, Message: s.asks(), CallID: d.call.CallID, Tool: d.tool, Args: d.tool.Arguments(args), Approved: approved, Reach: d.reach,
	}, effects)
	if effects {
		s.audit = append(s.audit, v.Audit...)
	}
	return v
}

// response lets the monitor judge the result of a call. The result gets at least the session's label, because it may
// repeat the arguments, which come from the session.
func (s calls) response(call Part, tool Tool, args json.RawMessage, r Response, trail *Trail) Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.audit = append(s.audit, trail.Take()...)
	if !r.Label.Valid() {
		r.Label = flow.Top() // a label that was lost
	}
	r.Label = r.Label.Join(s.record.Taint)
	r, entries := s.monitored().Response(MonitoredCall{Record: s.record, Message: s.asks(), CallID: call.CallID, Tool: tool, Args: args}, r)
	s.audit = append(s.audit, entries...)
	return r
}
