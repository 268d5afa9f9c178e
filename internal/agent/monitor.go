package agent

import (
	"context"
	"log/slog"
	"time"

	"sluice/internal/agent/roster"
	"sluice/policy"
	"sluice/sessions"
)

// runMonitor is the monitor of one run. It knows the speaker of the run, and uses the rules that are current at each
// call.
type runMonitor struct {
	roster *roster.Roster
	now    func() time.Time
	log    *slog.Logger
	run    *sessions.Run
	report sessions.Route // where a sub-agent's work is reported; zero for other runs
}

var _ sessions.Monitor = runMonitor{}

// monitor sets the run's monitor on the session.
func (w *work) monitor(report sessions.Route) {
	w.session.SetMonitor(runMonitor{w.roster, w.now, w.log, w.run, report})
}

func (m runMonitor) call(c sessions.MonitoredCall) policy.Call {
	return policy.Call{MonitoredCall: c, Route: policy.FirstRoute(m.run.Route, m.report, c.Record.Route), User: m.run.Speaker(), Owner: m.run.Input.Owner}
}

// Reach implements [sessions.Monitor].
func (m runMonitor) Reach(ctx context.Context, c sessions.MonitoredCall) sessions.Reach {
	reach, err := m.roster.Settings().Monitor.Reach(ctx, m.call(c))
	if err != nil && ctx.Err() == nil {
		m.log.Error("can't find out where a call goes, so an owner is asked", "tool", c.Tool.Spec.Name, "run", string(m.run.ID), "err", err)
	}
	return reach
}

// Call implements [sessions.Monitor].
func (m runMonitor) Call(c sessions.MonitoredCall, effects bool) sessions.CallVerdict {
	d, args := m.roster.Settings().Monitor.Ask(m.call(c), effects)
	v := sessions.CallVerdict{Reason: d.Reason, Args: args}
	switch d.Action {
	case policy.Allow, policy.Redact:
		v.Reason = ""
	case policy.Hold:
		v.Ruling = sessions.RulingAsk
	default:
		v.Ruling, v.Reason = sessions.RulingRefuse, "refused: "+d.Reason
	}
	if d.Terms != nil {
		v.Terms = *d.Terms
	}
	v.Terms.Level = m.roster.Settings().Monitor.ApprovalLevel(c)
	if effects {
		v.Audit = []sessions.AuditEntry{m.entry(c, "tool.", d)}
	}
	return v
}

// Response implements [sessions.Monitor].
func (m runMonitor) Response(c sessions.MonitoredCall, r sessions.Response) (sessions.Response, []sessions.AuditEntry) {
	d, r := m.roster.Settings().Monitor.Answer(m.call(c), r)
	return r, []sessions.AuditEntry{m.entry(c, "response.", d)}
}

// Model implements [sessions.Monitor]. An allowed request is not recorded, because the following message shows it.
func (m runMonitor) Model(record sessions.Record, model sessions.Model) (may bool, entries []sessions.AuditEntry) {
	level := sessions.ModelLevel(model)
	if policy.SubjectOf(record).MayTell(policy.CheckModel, level) {
		return true, nil
	}
	return false, []sessions.AuditEntry{{
		At: m.now(), Actor: "agent:" + record.Agent, Action: "model.block", Object: model.Name(), Session: record.ID, Label: record.Taint,
		Detail: map[string]string{"run": string(m.run.ID), "reason": "the conversation's level is " + record.Taint.Level().String() + ", and the model may receive at most " + level.String()},
	}}
}

// entry is the audit entry of a decision about a call.
func (m runMonitor) entry(c sessions.MonitoredCall, kind string, d policy.Decision) sessions.AuditEntry {
	return sessions.AuditEntry{
		At: m.now(), Actor: "agent:" + c.Record.Agent, Action: kind + string(d.Action), Object: c.Tool.Spec.Name, Session: c.Record.ID, Label: c.Record.Taint,
		Detail: struct {
			Run      sessions.RunID  `json:"run"`
			Call     string          `json:"call"`
			Decision policy.Decision `json:"decision"`
		}{m.run.ID, c.CallID, d},
	}
}
