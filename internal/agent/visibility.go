package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"sluice/policy"
	"sluice/sessions"
)

// Visibility says which sessions an agent's tools can see at all. Labels restrict it further.
type Visibility string

// The visibilities. Tree is the own session and those that it has started; an
// owner who speaks in the agent's main session sees all of that agent's.
const (
	VisibleSelf  Visibility = "self"
	VisibleTree  Visibility = "tree"
	VisibleAgent Visibility = "agent"
	VisibleAll   Visibility = "all"
)

// visible reports whether the caller's tools may see a session. What is more
// secret than what the caller has learnt already is not there for it.
func (l *Loop) visible(caller sessions.Caller, record sessions.Record) bool {
	if !policy.CallerOf(caller).May(policy.CheckSessionsSee, record.Taint) {
		return false
	}
	return record.ID == caller.Session || l.reaches(caller, record)
}

// guest reports whether a run in an agent's main session works for somebody who is not its owner. Where
// session.dmScope lets others talk there, the right to look around is that of who speaks, not of the session: its
// older messages, its sub-agents and its talks with other agents are not for them. What the model has before itself
// it may tell them all the same.
func (l *Loop) guest(caller sessions.Caller) bool {
	return !caller.Owner && caller.Key == l.settings.Load().Keyer.Main(caller.Agent)
}

// guestIn reports whether a session is the one in which the caller's run works for a guest, to whom nothing of what was said there is shown.
func (l *Loop) guestIn(caller sessions.Caller, session sessions.ID) bool {
	return session == caller.Session && l.guest(caller)
}

// errGuest is what a guest's run gets in place of what was said in the main session.
var errGuest = errors.New("others than the owner talk in this session too, and only the owner may have shown what was said in it: go by what is before you")

// reaches applies the visibility, whatever the labels say.
func (l *Loop) reaches(caller sessions.Caller, record sessions.Record) bool {
	started := record.SpawnedBy == caller.Session && !l.guest(caller)
	if d, _ := l.definition(caller.Agent); sandboxed(d.Sandbox) && !d.SeesAll {
		return started && l.settings.Load().Visibility != VisibleSelf
	}
	switch l.settings.Load().Visibility {
	case VisibleAll:
		return true
	case VisibleAgent:
		return record.Agent == caller.Agent
	case VisibleSelf:
		return false
	default:
		return started || caller.Owner && record.Agent == caller.Agent && caller.Key == l.settings.Load().Keyer.Main(caller.Agent)
	}
}

// target finds the session that a tool names by key or id; empty is the
// caller's own. The error for a hidden session is that for an absent one.
func (l *Loop) target(ctx context.Context, caller sessions.Caller, name string) (sessions.Record, error) {
	if name == "" || name == "current" {
		record, err := l.store.Session(ctx, caller.Session)
		if err != nil {
			return record, inside("read session", err)
		}
		return record, nil
	}
	record, err := l.find(ctx, caller, name)
	if err == nil && record.Ended.IsZero() && l.visible(caller, record) {
		return record, nil
	}
	if err == nil {
		l.deny(caller, policy.CheckSessionsSee, record)
	}
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return sessions.Record{}, inside("read session", err)
	}
	return sessions.Record{}, noSession(name)
}

// seesTarget is the check of the tools that show one session.
func (l *Loop) seesTarget(ctx context.Context, caller sessions.Caller, raw json.RawMessage) error {
	var args struct {
		SessionKey string `json:"sessionKey"`
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return fmt.Errorf("sessionKey: %w", err)
	}
	_, err := l.target(ctx, caller, args.SessionKey)
	return err
}

// deny notes for the operator what a caller was told is not there.
func (l *Loop) deny(caller sessions.Caller, at policy.Checkpoint, record sessions.Record) {
	why := "out of its sight (tools.sessions.visibility, sandbox)"
	switch {
	case !record.Ended.IsZero():
		why = "has ended"
	case !policy.CallerOf(caller).May(at, record.Taint):
		why = "above what the caller has learnt"
	case at == policy.CheckSessionsSend:
		why = "below what the caller has learnt"
	}
	caller.Trail.Add(sessions.AuditEntry{
		At: l.now(), Actor: "agent:" + caller.Agent, Action: string(at) + ".denied", Object: string(record.ID), Session: caller.Session, Label: record.Taint.Join(caller.Taint),
		Detail: map[string]string{"key": string(record.Key), "reason": why, "call": caller.CallID},
	})
}

func (l *Loop) find(ctx context.Context, caller sessions.Caller, name string) (sessions.Record, error) {
	if id, err := sessions.ParseID(name); err == nil {
		return l.store.Session(ctx, id)
	}
	key, err := l.settings.Load().Keyer.Resolve(name, caller.Agent)
	if err != nil {
		return sessions.Record{}, sessions.ErrNotFound // what can't be a key names nothing
	}
	return l.store.SessionByKey(ctx, key)
}
