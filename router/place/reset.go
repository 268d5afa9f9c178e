package place

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// MayEnd lets the monitor judge whether a session may be replaced or deleted, and gives the entry that says so. kept says why not;
// empty: it may.
func (pl *Places) MayEnd(record sessions.Record, who string, owner bool) (entry sessions.AuditEntry, kept string) {
	d := pl.Judge(record, who, owner)
	entry = sessions.AuditEntry{At: pl.Now(), Actor: who, Action: "session.reset", Object: string(record.Key), Session: record.ID, Label: ledger.NoticeLabel(), Detail: d}
	if d.Action == policy.Allow {
		return entry, ""
	}
	entry.Action = "session.reset.block"
	return entry, "a rule keeps the session: " + d.Reason
}

// OperatorMayEnd is mayEnd for somebody with a token of the API. Rules know all of them as operator.
func (pl *Places) OperatorMayEnd(record sessions.Record, actor string) (entry sessions.AuditEntry, kept string) {
	entry, kept = pl.MayEnd(record, "operator", true)
	entry.Actor = actor
	return entry, kept
}

// Renew replaces the session of who speaks by an empty one, unless a rule keeps it: kept then says why, and record is the old one.
func (pl *Places) Renew(in Arrival, owner bool, old sessions.Record, why string) (change ledger.Change, record sessions.Record, kept string) {
	entry, kept := pl.MayEnd(old, in.Speaker(), owner)
	if kept != "" {
		change.Audit = []sessions.AuditEntry{entry}
		return change, old, kept
	}
	change, record = pl.Reset(old, pl.begunWith(in, owner))
	entry.Session, entry.Detail = record.ID, map[string]any{"before": old.ID, "reason": why, "decision": entry.Detail}
	change.Audit = []sessions.AuditEntry{entry}
	return change, record, ""
}

// Reset ends a session and begins a new one under its key, with its settings
// that are the owner's or its creator's, above all what bounds it, but nothing
// that it has learnt: its metadata is as secret as it was, and stays with it where that is not PUBLIC. So does the name that it was
// given, and where a stranger may have given it: other sessions are shown it.
// It may learn what the old one might, and least in any case; an invalid level is none.
func (pl *Places) Reset(old sessions.Record, least flow.Level) (ledger.Change, sessions.Record) {
	fresh := pl.NewRecord(old.Key, old.Agent, old.Route)
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

// ResetMode says when a session restarts automatically.
type ResetMode string

// The reset modes.
const (
	ResetNone  ResetMode = "none"
	ResetDaily ResetMode = "daily" // at an hour of the gateway's local time; after Idle too, where that is set
	ResetIdle  ResetMode = "idle"  // when nobody has spoken in it for Idle
)

// ResetPolicy says when a session restarts automatically.
type ResetPolicy struct {
	Mode   ResetMode
	AtHour int           // 0 to 23, of [ResetDaily]
	Idle   time.Duration // 0: however long nobody speaks
}

// ResetSettings are the reset policies.
type ResetSettings struct {
	Default ResetPolicy
	ByType  map[ConversationType]ResetPolicy
	// ByChannel counts before ByType.
	ByChannel map[string]ResetPolicy
}

// ConversationType is what a reset policy can be for.
type ConversationType string

// The conversation types. A thread or topic of a group is a thread.
const (
	TypeDirect ConversationType = "direct"
	TypeGroup  ConversationType = "group"
	TypeThread ConversationType = "thread"
)

func conversationType(route sessions.Route) ConversationType {
	switch {
	case route.Thread != "":
		return TypeThread
	case route.ChatType != sessions.Direct:
		return TypeGroup
	}
	return TypeDirect
}

// policy is the one that counts for a message by a route.
func (s ResetSettings) policy(route sessions.Route) ResetPolicy {
	if p, ok := s.ByChannel[route.Channel]; ok {
		return p
	}
	if p, ok := s.ByType[conversationType(route)]; ok {
		return p
	}
	return s.Default
}

// begunBefore reports whether a day boundary lies between a session's beginning and now.
func (p ResetPolicy) begunBefore(created, now time.Time) bool {
	return p.Mode == ResetDaily && created.Before(lastBoundary(now, p.AtHour))
}

// lastBoundary is the newest time not after now at which an hour began in now's place. A
// day has exactly one, however its clocks are set.
func lastBoundary(now time.Time, hour int) time.Time {
	year, month, day := now.Date()
	at := time.Date(year, month, day, hour, 0, 0, 0, now.Location())
	if at.After(now) {
		at = time.Date(year, month, day-1, hour, 0, 0, 0, now.Location())
	}
	return at
}

// stale reports whether a message begins a new session instead of going on with its
// own. It is asked for what people newly say and for nothing else, and of what was said before it
// nothing else counts: agents, notes and commands neither reset a session nor keep it. One
// that still works or waits is never stale, as the message belongs to what it is about.
func (pl *Places) stale(ctx context.Context, s *Settings, in Arrival, record sessions.Record) (bool, error) {
	policy := s.Reset.policy(in.Route)
	if in.Session != "" || in.Edited || in.Order != nil || policy.Mode == "" || policy.Mode == ResetNone {
		return false, nil
	}
	now := pl.Now()
	if !policy.begunBefore(record.Created, now) {
		idle, err := pl.idle(ctx, policy, record, now)
		if err != nil || !idle {
			return false, err
		}
	}
	waiting, err := pl.Store.WaitingRuns(ctx, record.ID, 1)
	if err != nil {
		return false, fmt.Errorf("read queue: %w", err)
	}
	return len(waiting) == 0, nil
}

// idle reports whether nobody has spoken in the session for as long as the policy says.
func (pl *Places) idle(ctx context.Context, p ResetPolicy, record sessions.Record, now time.Time) (bool, error) {
	if p.Idle <= 0 || now.Sub(record.Created) < p.Idle {
		return false, nil
	}
	heard, err := pl.Store.LastHeard(ctx, record.ID)
	if errors.Is(err, sessions.ErrNotFound) {
		heard, err = record.Created, nil
	}
	if err != nil {
		return false, fmt.Errorf("read when somebody last spoke: %w", err)
	}
	return now.Sub(heard) >= p.Idle, nil
}

// SessionOf is the session in which a message is worked, with the change that makes it.
func (pl *Places) SessionOf(ctx context.Context, s *Settings, in Arrival, owner bool) (record sessions.Record, change ledger.Change, err error) {
	record, fresh, err := pl.SessionFor(ctx, s, in, owner)
	if err != nil {
		return record, change, err
	}
	if fresh {
		change.Create = append(change.Create, record)
		return record, change, nil
	}
	why := "asked for"
	if !in.New {
		stale, err := pl.stale(ctx, s, in, record)
		if err != nil || !stale {
			return record, change, err
		}
		why = "its time was over"
	}
	change, record, _ = pl.Renew(in, owner, record, why) // what a rule keeps is gone on with
	return record, change, nil
}
