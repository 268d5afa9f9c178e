package router

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/router/ledger"
	"sluice/sessions"
)

// ResetMode says when a session begins anew by itself.
type ResetMode string

// The reset modes.
const (
	ResetNone  ResetMode = "none"
	ResetDaily ResetMode = "daily" // at an hour of the gateway's local time; after Idle too, where that is set
	ResetIdle  ResetMode = "idle"  // when nobody has spoken in it for Idle
)

// ResetPolicy says when a session begins anew by itself.
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
func (r *Router) stale(ctx context.Context, s *Settings, in Admission, record sessions.Record) (bool, error) {
	policy := s.Reset.policy(in.Route)
	if in.Session != "" || in.Edited || in.order != nil || policy.Mode == "" || policy.Mode == ResetNone {
		return false, nil
	}
	now := r.now()
	if !policy.begunBefore(record.Created, now) {
		idle, err := r.idle(ctx, policy, record, now)
		if err != nil || !idle {
			return false, err
		}
	}
	waiting, err := r.store.WaitingRuns(ctx, record.ID, 1)
	if err != nil {
		return false, fmt.Errorf("read queue: %w", err)
	}
	return len(waiting) == 0, nil
}

// idle reports whether nobody has spoken in the session for as long as the policy says.
func (r *Router) idle(ctx context.Context, p ResetPolicy, record sessions.Record, now time.Time) (bool, error) {
	if p.Idle <= 0 || now.Sub(record.Created) < p.Idle {
		return false, nil
	}
	heard, err := r.store.LastHeard(ctx, record.ID)
	if errors.Is(err, sessions.ErrNotFound) {
		heard, err = record.Created, nil
	}
	if err != nil {
		return false, fmt.Errorf("read when somebody last spoke: %w", err)
	}
	return now.Sub(heard) >= p.Idle, nil
}

// place is the session in which a message is worked, with the change that makes it.
func (r *Router) place(ctx context.Context, s *Settings, in Admission, owner bool) (record sessions.Record, change ledger.Change, err error) {
	record, fresh, err := r.sessionFor(ctx, s, in, owner)
	if err != nil {
		return record, change, err
	}
	if fresh {
		change.Create = append(change.Create, record)
		return record, change, nil
	}
	why := "asked for"
	if !in.anew {
		stale, err := r.stale(ctx, s, in, record)
		if err != nil || !stale {
			return record, change, err
		}
		why = "its time was over"
	}
	change, record, _ = r.renew(in, owner, record, why) // what a rule keeps is gone on with
	return record, change, nil
}
