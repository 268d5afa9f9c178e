// Package visibility decides which sessions the tools of a caller can see, and which it may speak to.
//
// Two things decide: the configuration (tools.sessions.visibility, tools.agentToAgent, the sandbox) and the labels. A session
// that a caller may not know of gives the same error as one that does not exist; only the audit trail has the reason.
package visibility

import (
	"context"
	"errors"
	"time"

	"sluice/internal/agent/roster"
	"sluice/internal/agent/tools"
	"sluice/internal/spending"
	"sluice/policy"
	"sluice/sessions"
)

// Store finds sessions.
type Store interface {
	Session(ctx context.Context, id sessions.ID) (sessions.Record, error)
	SessionByKey(ctx context.Context, key sessions.Key) (sessions.Record, error)
}

// Checker decides which sessions a caller's tools can see, and which it may speak to.
type Checker struct {
	Store  Store
	Roster *roster.Roster
	// Archived finds the archived session of a sub-agent by its key; nil: none is found by its key.
	Archived func(ctx context.Context, key sessions.Key) (sessions.Record, error)
	// NewSession makes the main session of an agent that lacks one, without storing it.
	NewSession func(agent string) sessions.Record
	Now        func() time.Time
}

// Visible reports whether the caller's tools may see a session. What is more
// secret than what the caller has learnt already is not there for it.
func (st *Checker) Visible(caller sessions.Caller, record sessions.Record) bool {
	if !policy.CallerOf(caller).May(policy.CheckSessionsSee, record.Taint) {
		return false
	}
	return record.ID == caller.Session || st.reaches(caller, record)
}

// guest reports whether a run in an agent's main session works for somebody who is not its owner. Where
// session.dmScope lets others talk there, the right to look around is that of who speaks, not of the session: its
// older messages, its sub-agents and its talks with other agents are not for them. What the model has before itself
// it may tell them all the same.
func (st *Checker) guest(caller sessions.Caller) bool {
	return !caller.Owner && caller.Key == st.Roster.Settings().Keyer.Main(caller.Agent)
}

// GuestIn reports whether a session is the one in which the caller's run works for a guest, to whom nothing of what was said there is shown.
func (st *Checker) GuestIn(caller sessions.Caller, session sessions.ID) bool {
	return session == caller.Session && st.guest(caller)
}

// ErrGuest is what a guest's run gets in place of what was said in the main session.
var ErrGuest = errors.New("people other than the owner talk in this session too, and its history may be shown to the owner only: use what you see here")

// reaches applies the visibility, whatever the labels say.
func (st *Checker) reaches(caller sessions.Caller, record sessions.Record) bool {
	started := record.SpawnedBy == caller.Session && !st.guest(caller)
	if d, _ := st.Roster.Definition(caller.Agent); roster.Sandboxed(d.Sandbox) && !d.SeesAll {
		return started && st.Roster.Settings().Visibility != roster.VisibleSelf
	}
	switch st.Roster.Settings().Visibility {
	case roster.VisibleAll:
		return true
	case roster.VisibleAgent:
		return record.Agent == caller.Agent
	case roster.VisibleSelf:
		return false
	default:
		return started || caller.Owner && record.Agent == caller.Agent && caller.Key == st.Roster.Settings().Keyer.Main(caller.Agent)
	}
}

// Counted limits a query to the model calls that the caller's tools may know of: those of the sessions that they see.
func (st *Checker) Counted(caller sessions.Caller) spending.Query {
	q := spending.Query{MaxLevel: caller.Taint.Level()}
	d, _ := st.Roster.Definition(caller.Agent)
	visible := st.Roster.Settings().Visibility
	switch narrow := roster.Sandboxed(d.Sandbox) && !d.SeesAll || st.guest(caller); {
	case !narrow && visible == roster.VisibleAll:
	case !narrow && (visible == roster.VisibleAgent || visible == roster.VisibleTree && caller.Owner && caller.Key == st.Roster.Settings().Keyer.Main(caller.Agent)):
		q.Agent = caller.Agent
	default:
		q.Session = string(caller.Session)
	}
	return q
}

// Shown is a session's key as the caller's tools show it: "main" for the main session of the caller's own agent.
func (st *Checker) Shown(caller sessions.Caller, key sessions.Key) sessions.Key {
	if key == st.Roster.Settings().Keyer.Main(caller.Agent) {
		return sessions.MainAlias
	}
	return key
}

// Target finds the session that a tool names by key or id; empty is the
// caller's own. It may be archived. The error for a hidden session is that for an absent one.
func (st *Checker) Target(ctx context.Context, caller sessions.Caller, name string) (sessions.Record, error) {
	if name == "" || name == "current" {
		record, err := st.Store.Session(ctx, caller.Session)
		if err != nil {
			return record, tools.Inside("read session", err)
		}
		return record, nil
	}
	record, err := st.find(ctx, caller, name)
	if err == nil && record.Readable() && st.Visible(caller, record) {
		return record, nil
	}
	if err == nil {
		st.Deny(caller, policy.CheckSessionsSee, record)
	}
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return sessions.Record{}, tools.Inside("read session", err)
	}
	return sessions.Record{}, NoSession(name)
}

// Deny notes for the operator what a caller was told is not there.
func (st *Checker) Deny(caller sessions.Caller, at policy.Checkpoint, record sessions.Record) {
	why := "not visible to the caller (tools.sessions.visibility, sandbox)"
	switch {
	case !record.Readable():
		why = "has ended"
	case !policy.CallerOf(caller).May(at, record.Taint):
		why = "above what the caller has learned"
	case at == policy.CheckSessionsSend:
		why = "below what the caller has learned"
	}
	caller.Trail.Add(sessions.AuditEntry{
		At: st.Now(), Actor: "agent:" + caller.Agent, Action: string(at) + ".denied", Object: string(record.ID), Session: caller.Session, Label: record.Taint.Join(caller.Taint),
		Detail: map[string]string{"key": string(record.Key), "reason": why, "call": caller.CallID},
	})
}

func (st *Checker) find(ctx context.Context, caller sessions.Caller, name string) (sessions.Record, error) {
	if id, err := sessions.ParseID(name); err == nil {
		return st.Store.Session(ctx, id)
	}
	key, err := st.Roster.Settings().Keyer.Resolve(name, caller.Agent)
	if err != nil {
		return sessions.Record{}, sessions.ErrNotFound // what can't be a key names nothing
	}
	record, err := st.Store.SessionByKey(ctx, key)
	if errors.Is(err, sessions.ErrNotFound) && key.SubAgent() && st.Archived != nil {
		return st.Archived(ctx, key)
	}
	return record, err
}
