package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/wire"
	"sluice/policy/flow"
	"sluice/router/outbound"
	"sluice/router/request"
	"sluice/sessions"
)

// Resolver finds sessions by what people call them.
type Resolver interface {
	// ResolveSession finds a live session by its key or id.
	ResolveSession(ctx context.Context, keyOrID string) (sessions.Record, error)
	// ReadableSession is ResolveSession for a session that is only read: it finds archived ones too.
	ReadableSession(ctx context.Context, keyOrID string) (sessions.Record, error)
	// SessionOrMain is ResolveSession, or the main session if the name is empty.
	SessionOrMain(ctx context.Context, keyOrID string) (sessions.Record, error)
	// MainSession returns the main session that a name refers to, and creates it if it is missing. If the name does not
	// refer to the main session of an agent, the error is [sessions.ErrNotFound].
	MainSession(ctx context.Context, name string) (sessions.Record, error)
}

// SessionReader reads a session, also one that has ended.
type SessionReader interface {
	Session(ctx context.Context, id sessions.ID) (sessions.Record, error)
}

// Visibility decides what a caller may know of. What is above the caller's level looks like what does not exist, and is
// noted for the operator.
type Visibility struct {
	Resolver  Resolver
	Rows      SessionReader
	SinkLevel func(route sessions.Route) flow.Level // the highest level that may be said on a route
	Denials   *denials.Trail
}

// Session finds the session that a path names, if the caller may know of it. It creates what the alias main means.
func (v *Visibility) Session(ctx context.Context, name string) (sessions.Record, error) {
	if name == sessions.MainAlias {
		return v.Addressed(ctx, name)
	}
	return v.Existing(ctx, name)
}

// Addressed is Session for somebody who speaks to the session: it creates the main session of each agent if it is missing.
func (v *Visibility) Addressed(ctx context.Context, name string) (sessions.Record, error) {
	r, err := v.Resolver.MainSession(ctx, name)
	switch {
	case errors.Is(err, sessions.ErrNotFound): // the name means another session
		return v.Existing(ctx, name)
	case err != nil:
		return r, err
	}
	return v.UnlessHidden(ctx, r)
}

// Existing finds the session that a name means, if the caller may know of it.
func (v *Visibility) Existing(ctx context.Context, name string) (sessions.Record, error) {
	return v.existing(ctx, name, v.Resolver.ResolveSession)
}

// Readable is Session for a session that is only read or deleted: it finds archived ones too. It creates only what the
// alias main means.
func (v *Visibility) Readable(ctx context.Context, name string) (sessions.Record, error) {
	if name == sessions.MainAlias {
		return v.Session(ctx, name)
	}
	return v.existing(ctx, name, v.Resolver.ReadableSession)
}

func (v *Visibility) existing(ctx context.Context, name string, find func(context.Context, string) (sessions.Record, error)) (sessions.Record, error) {
	r, err := find(ctx, name)
	if _, bad := errors.AsType[*request.Error](err); bad {
		return r, wire.ErrNotFound // it cannot be a key, so it names nothing
	}
	if err != nil {
		return sessions.Record{}, err
	}
	return v.UnlessHidden(ctx, r)
}

// SessionID is the id of the session that a query names. It may be the id of a session that has ended: rows about it are still there.
func (v *Visibility) SessionID(ctx context.Context, name string) (sessions.ID, error) {
	if id, err := sessions.ParseID(name); err == nil {
		return id, nil
	}
	r, err := v.Readable(ctx, name)
	return r.ID, err
}

// UnlessHidden passes on a session that the caller may know of.
func (v *Visibility) UnlessHidden(ctx context.Context, r sessions.Record) (sessions.Record, error) {
	if !auth.CallerOf(ctx).Sees(r.Taint) {
		v.Denials.Hidden(ctx, denials.Object{Kind: "session", ID: string(r.ID), Session: r.ID, Label: r.Taint}, denials.AboveLevel)
		return sessions.Record{}, wire.ErrNotFound
	}
	return r, nil
}

// Check passes the result of reading an object: not found if the object's label, or the taint of a session it belongs to,
// is above the caller's level. A hidden object takes as many reads as a missing one, so the time tells nothing.
func (v *Visibility) Check(ctx context.Context, err error, o denials.Object, of ...sessions.ID) error {
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return err
	}
	who, exists := auth.CallerOf(ctx), err == nil
	visible := exists && who.Sees(o.Label)
	for _, id := range of {
		taint, err := v.Taint(ctx, who, id)
		if err != nil {
			return err
		}
		visible = visible && (who.Sees(taint) || id == "")
		if id != "" {
			o.Session, o.Label = cmp.Or(o.Session, id), o.Label.Join(taint)
		}
	}
	if visible {
		return nil
	}
	if exists {
		v.Denials.Hidden(ctx, o, denials.AboveLevel)
	}
	return wire.ErrNotFound
}

// Taint is the taint of a session, which may have ended, as far as it matters for a caller: a caller who sees everything
// needs no look. The taint of a missing session is above everyone else.
func (v *Visibility) Taint(ctx context.Context, who auth.Caller, id sessions.ID) (flow.Label, error) {
	if who.SeesAll() {
		return flow.Bottom(), nil
	}
	r, err := v.Rows.Session(ctx, id)
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return flow.Top(), nil
	case err != nil:
		return flow.Top(), fmt.Errorf("read session: %w", err)
	}
	return r.Taint, nil
}

// SessionsSeen are those of some sessions that the caller may know of.
func (v *Visibility) SessionsSeen(ctx context.Context, ids []sessions.ID) ([]sessions.ID, error) {
	who := auth.CallerOf(ctx)
	var seen []sessions.ID
	for _, id := range ids {
		taint, err := v.Taint(ctx, who, id)
		if err != nil {
			return nil, err
		}
		if who.Sees(taint) {
			seen = append(seen, id)
		}
	}
	return seen, nil
}

// ChannelSeen reports whether a channel is within the caller's level. A channel above it looks as if it were not configured.
func (v *Visibility) ChannelSeen(ctx context.Context, channel, account string) bool {
	return flow.CanFlow(v.ChannelLevel(channel, account), auth.CallerOf(ctx).Level)
}

// ChannelLevel is the highest level that may be said through an account of a channel.
func (v *Visibility) ChannelLevel(channel, account string) flow.Level {
	return v.SinkLevel(sessions.Route{Channel: channel, Account: account})
}

// NoteChannel notes that a channel, or something of it, was hidden from the caller.
func (v *Visibility) NoteChannel(ctx context.Context, kind, channel, account, id string) {
	v.Denials.Hidden(ctx, denials.Object{
		Kind: kind, ID: channel + "/" + cmp.Or(account, "default") + id, Label: flow.NewLabel(v.ChannelLevel(channel, account), flow.Trusted),
	}, denials.AboveLevel)
}

// NeedChannel refuses a channel above the caller's level as if it were not configured.
func (v *Visibility) NeedChannel(ctx context.Context, channel, account string) error {
	if !v.ChannelSeen(ctx, channel, account) {
		v.NoteChannel(ctx, "channel", channel, account, "")
		return outbound.NoChannel(channel)
	}
	return nil
}

// NeedOperator refuses a caller who may only read.
func NeedOperator(ctx context.Context) error {
	if who := auth.CallerOf(ctx); who.Role != auth.RoleOperator && !who.Owner() {
		return wire.Forbidden("the token " + who.Name + " has the role viewer, which may not see this; use a token with another role")
	}
	return nil
}
