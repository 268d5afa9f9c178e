package router

import (
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// mayEnd lets the monitor judge whether a session may be replaced or deleted, and gives the entry that says so. kept says why not;
// empty: it may.
func (r *Router) mayEnd(record sessions.Record, who string, owner bool) (entry sessions.AuditEntry, kept string) {
	d := r.monitor.Reset(record, who, owner)
	entry = sessions.AuditEntry{At: r.now(), Actor: who, Action: "session.reset", Object: string(record.Key), Session: record.ID, Label: ledger.NoticeLabel(), Detail: d}
	if d.Action == policy.Allow {
		return entry, ""
	}
	entry.Action = "session.reset.block"
	return entry, "a rule keeps the session: " + d.Reason
}

// operatorMayEnd is mayEnd for somebody with a token of the API. Rules know all of them as operator.
func (r *Router) operatorMayEnd(record sessions.Record, actor string) (entry sessions.AuditEntry, kept string) {
	entry, kept = r.mayEnd(record, "operator", true)
	entry.Actor = actor
	return entry, kept
}

// renew replaces the session of who speaks by an empty one, unless a rule keeps it: kept then says why, and record is the old one.
func (r *Router) renew(in Admission, owner bool, old sessions.Record, why string) (change ledger.Change, record sessions.Record, kept string) {
	entry, kept := r.mayEnd(old, in.speaker(), owner)
	if kept != "" {
		change.Audit = []sessions.AuditEntry{entry}
		return change, old, kept
	}
	change, record = r.reset(old, r.begunWith(in, owner))
	entry.Session, entry.Detail = record.ID, map[string]any{"before": old.ID, "reason": why, "decision": entry.Detail}
	change.Audit = []sessions.AuditEntry{entry}
	return change, record, ""
}

// reset ends a session and begins a new one under its key, with its settings
// that are the owner's or its creator's, above all what bounds it, but nothing
// that it has learnt: its metadata is as secret as it was, and stays with it where that is not PUBLIC. So does the name that it was
// given, and where a stranger may have given it: other sessions are shown it.
// It may learn what the old one might, and least in any case; an invalid level is none.
func (r *Router) reset(old sessions.Record, least flow.Level) (ledger.Change, sessions.Record) {
	fresh := r.newRecord(old.Key, old.Agent, old.Route)
	fresh.Clearance, fresh.FileAccess, fresh.SpawnedBy = flow.Min(fresh.Clearance, old.Clearance), old.FileAccess, old.SpawnedBy
	if flow.CanFlow(fresh.Clearance, least) {
		fresh.Clearance = least
	}
	fresh.SendPolicy, fresh.Activation, fresh.QueueMode = old.SendPolicy, old.Activation, old.QueueMode
	fresh.ThinkingLevel, fresh.VerboseLevel = old.ThinkingLevel, old.VerboseLevel
	fresh.Persistent, fresh.TTL = old.Persistent, old.TTL
	if old.Taint.FlowsTo(fresh.Taint.Level()) {
		fresh.Metadata = old.Metadata
	}
	if old.Label.Label() == fresh.Taint {
		fresh.Label = old.Label
	}
	var change ledger.Change
	change.End = []sessions.End{{ID: old.ID, At: fresh.Created}}
	change.Create = []sessions.Record{fresh}
	return change, fresh
}
