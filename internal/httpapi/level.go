package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"sluice/policy/flow"
	"sluice/router"
	"sluice/sessions"
)

// lookup finds the session that a name means, if the caller may know of it.
func (s *Server) lookup(ctx context.Context, name string) (sessions.Record, error) {
	r, err := s.cfg.Router.ResolveSession(ctx, name)
	if _, bad := asRequestError(err); bad {
		return r, errNotFound // what can't be a key names nothing
	}
	if err != nil {
		return sessions.Record{}, s.problem(err)
	}
	return s.unlessHidden(ctx, r)
}

// unlessHidden is a session that the caller may know of; else it is as one that never was.
func (s *Server) unlessHidden(ctx context.Context, r sessions.Record) (sessions.Record, error) {
	if !callerOf(ctx).sees(r.Taint) {
		s.denied(ctx, object{"session", string(r.ID), r.ID, r.Taint}, whyAbove)
		return sessions.Record{}, errNotFound
	}
	return r, nil
}

// visible says what a look at something found: nothing, if it has a label, or is of a session, above the
// caller's level. That is found out by as many questions as that there is no such thing at all.
func (s *Server) visible(ctx context.Context, err error, o object, of ...sessions.ID) error {
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return s.problem(err)
	}
	who, there := callerOf(ctx), err == nil
	seen := there && who.sees(o.label)
	for _, id := range of {
		taint, err := s.taintFor(ctx, who, id)
		if err != nil {
			return s.problem(err)
		}
		seen = seen && (who.sees(taint) || id == "")
		if id != "" {
			o.session, o.label = cmp.Or(o.session, id), o.label.Join(taint)
		}
	}
	if seen {
		return nil
	}
	if there {
		s.denied(ctx, o, whyAbove)
	}
	return errNotFound
}

// taintFor is the taint of a session, which may have ended, for who has to be shown no more than their level: one who
// sees everything needs none. That of a session that is not there is above everybody else.
func (s *Server) taintFor(ctx context.Context, who caller, id sessions.ID) (flow.Label, error) {
	if who.seesAll() {
		return flow.Bottom(), nil
	}
	r, err := s.cfg.Store.Session(ctx, id)
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return flow.Top(), nil
	case err != nil:
		return flow.Top(), fmt.Errorf("read session: %w", err)
	}
	return r.Taint, nil
}

// seenOf are those of some sessions that the caller may know of.
func (s *Server) seenOf(ctx context.Context, ids []sessions.ID) ([]sessions.ID, error) {
	who := callerOf(ctx)
	var seen []sessions.ID
	for _, id := range ids {
		taint, err := s.taintFor(ctx, who, id)
		if err != nil {
			return nil, s.problem(err)
		}
		if who.sees(taint) {
			seen = append(seen, id)
		}
	}
	return seen, nil
}

// channelSeen reports whether a channel is within the caller's level. One above it is as one that is not configured.
func (s *Server) channelSeen(ctx context.Context, channel, account string) bool {
	return flow.CanFlow(s.channelLevel(channel, account), callerOf(ctx).Level)
}

func (s *Server) channelLevel(channel, account string) flow.Level {
	return s.cfg.SinkLevel(sessions.Route{Channel: channel, Account: account})
}

// denyChannel notes that a caller was told that there is no such channel.
func (s *Server) denyChannel(ctx context.Context, kind, id, channel, account string) {
	s.denied(ctx, object{kind: kind, id: channel + "/" + cmp.Or(account, "default") + id, label: flow.NewLabel(s.channelLevel(channel, account), flow.Trusted)}, whyAbove)
}

// needChannel refuses a channel above the caller's level as one that is not configured.
func (s *Server) needChannel(ctx context.Context, channel, account string) error {
	if !s.channelSeen(ctx, channel, account) {
		s.denyChannel(ctx, "channel", "", channel, account)
		return s.problem(router.NoChannel(channel))
	}
	return nil
}

// needOperator refuses who may only look.
func needOperator(ctx context.Context) error {
	if who := callerOf(ctx); who.Role != RoleOperator {
		return forbidden("the token " + who.Name + " may not see this: its role is reader; gateway.tokens in the configuration says so")
	}
	return nil
}

// needAll refuses who does not see everything what is made of everything.
func (*Server) needAll(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if who := callerOf(r.Context()); !who.seesAll() {
			writeError(w, forbidden(fmt.Sprintf("this counts what is RESTRICTED too, and you may see what is %s; use a token whose classification is RESTRICTED", who.Level)))
			return
		}
		next.ServeHTTP(w, r)
	})
}
