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

// MayEnd asks the monitor whether a session may be replaced or deleted, and returns the matching audit entry. kept
// says why not; empty: it may.
func (pl *Places) MayEnd(record sessions.Record, who string, owner bool) (entry sessions.AuditEntry, kept string) {
	d := pl.Judge(record, who, owner)
	entry = sessions.AuditEntry{At: pl.Now(), Actor: who, Action: "session.reset", Object: string(record.Key), Session: record.ID, Label: ledger.NoticeLabel(), Detail: d}
	if d.Action == policy.Allow {
		return entry, ""
	}
	entry.Action = "session.reset.block"
	return entry, "a rule keeps the session: " + d.Reason
}

// OperatorMayEnd is MayEnd for the holder of an API token. Rules see them all as operator.
func (pl *Places) OperatorMayEnd(record sessions.Record, actor string) (entry sessions.AuditEntry, kept string) {
	entry, kept = pl.MayEnd(record, "operator", true)
	entry.Actor = actor
	return entry, kept
}

// Renew replaces a speaker's session by an empty one, unless a rule keeps it: then kept says why, and record is the
// old one.
func (pl *Places) Renew(in Arrival, owner bool, old sessions.Record, why string) (change ledger.Change, record sessions.Record, kept string) {
	entry, kept := pl.MayEnd(old, in.Speaker(), owner)
	if kept != "" {
		change.Audit = []sessions.AuditEntry{entry}
		return change, old, kept
	}
	change, record = pl.Reset(old, pl.begunWith(in, owner))
	if in.Session == "" {
		record.FileAccess = pl.filesOf(in, owner, record.Agent)
		change.Create[0].FileAccess = record.FileAccess
	}
	entry.Session, entry.Detail = record.ID, map[string]any{"before": old.ID, "reason": why, "decision": entry.Detail}
	change.Audit = []sessions.AuditEntry{entry}
	return change, record, ""
}

// Reset ends a session and starts a new one under its key. The new one keeps the settings of the owner or creator,
// above all its limits, but nothing that the session has learnt: metadata above PUBLIC stays behind, because it keeps
// its level. So does the title, if a stranger may have set it, because other sessions see it. The clearance is that
// of the old session, but at least least; an invalid least adds nothing.
func (pl *Places) Reset(old sessions.Record, least flow.Level) (ledger.Change, sessions.Record) {
	fresh := pl.NewRecord(old.Key, old.Agent, old.Route)
	fresh.Clearance, fresh.FileAccess, fresh.SpawnedBy = flow.Min(fresh.Clearance, old.Clearance), old.FileAccess, old.SpawnedBy
	if flow.CanFlow(fresh.Clearance, least) {
		fresh.Clearance = least
	}
	fresh.SendPolicy, fresh.Activation, fresh.QueueMode = old.SendPolicy, old.Activation, old.QueueMode
	fresh.ThinkingLevel, fresh.VerboseLevel = old.ThinkingLevel, old.VerboseLevel
	fresh.Temperature, fresh.MaxTokens, fresh.Voice = old.Temperature, old.MaxTokens, old.Voice
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
	ResetDaily ResetMode = "daily" // at an hour of the gateway's local time, and also after Idle if that is set
	ResetIdle  ResetMode = "idle"  // when nobody has sent a message for Idle
)

// ResetPolicy says when a session restarts automatically.
type ResetPolicy struct {
	Mode   ResetMode
	AtHour int           // 0 to 23, of [ResetDaily]
	Idle   time.Duration // 0: never
}

// ResetSettings are the reset policies.
type ResetSettings struct {
	Default ResetPolicy
	ByType  map[ConversationType]ResetPolicy
	// ByChannel takes precedence over ByType.
	ByChannel map[string]ResetPolicy
}

// ConversationType is a kind of conversation with its own reset policy.
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

// policy is the one for a message on a route.
func (s ResetSettings) policy(route sessions.Route) ResetPolicy {
	if p, ok := s.ByChannel[route.Channel]; ok {
		return p
	}
	if p, ok := s.ByType[conversationType(route)]; ok {
		return p
	}
	return s.Default
}

// begunBefore reports whether a day boundary lies between a session's start and now.
func (p ResetPolicy) begunBefore(created, now time.Time) bool {
	return p.Mode == ResetDaily && created.Before(lastBoundary(now, p.AtHour))
}

// lastBoundary is the latest start of an hour of the day, in now's time zone, that is not after now. A day has
// exactly one, even if clocks change.
func lastBoundary(now time.Time, hour int) time.Time {
	year, month, day := now.Date()
	at := time.Date(year, month, day, hour, 0, 0, 0, now.Location())
	if at.After(now) {
		at = time.Date(year, month, day-1, hour, 0, 0, 0, now.Location())
	}
	return at
}

// stale reports whether a message starts a new session. Only new messages of people are checked, and only earlier
// messages of people count: agents, notes and commands neither reset a session nor keep it. A session with running or
// queued work is never stale, because the message belongs to that work.
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

// idle reports whether nobody has sent a message for as long as the policy says.
func (pl *Places) idle(ctx context.Context, p ResetPolicy, record sessions.Record, now time.Time) (bool, error) {
	if p.Idle <= 0 || now.Sub(record.Created) < p.Idle {
		return false, nil
	}
	heard, err := pl.Store.LastHeard(ctx, record.ID)
	if errors.Is(err, sessions.ErrNotFound) {
		heard, err = record.Created, nil
	}
	if err != nil {
		return false, fmt.Errorf("read when a person last wrote: %w", err)
	}
	return now.Sub(heard) >= p.Idle, nil
}

// SessionOf is the session of a message, with the change that creates it.
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
		why = "it had expired"
	}
	change, record, _ = pl.Renew(in, owner, record, why) // a session that a rule keeps continues
	return record, change, nil
}
