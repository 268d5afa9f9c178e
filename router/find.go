package router

import (
	"context"
	"errors"
	"fmt"

	"sluice/policy/flow"
	"sluice/sessions"
)

// sessionFor finds the session that an event belongs to, or makes its record.
func (r *Router) sessionFor(ctx context.Context, s *Settings, in Admission, owner bool) (record sessions.Record, fresh bool, err error) {
	if in.Session != "" {
		record, err = r.liveSession(ctx, in.Session)
		return record, false, err
	}
	record, err = r.sessionAt(ctx, s, "", in.Route, in.Sender.ID)
	if err != nil || record.ID != "" {
		return record, false, err
	}
	record = r.newRecord(record.Key, record.Agent, in.Route)
	record.Clearance = r.begunWith(in, owner)
	return record, true, nil
}

// begunWith is what a session may learn that somebody begins in their conversation. Over the API none is begun, and it is no level.
func (r *Router) begunWith(in Admission, owner bool) flow.Level {
	if in.Session != "" {
		return flow.Level{}
	}
	return r.settings.Load().clearance(owner, r.gate.SinkLevel(in.Route))
}

// liveSession reads a session that has not ended.
func (r *Router) liveSession(ctx context.Context, id sessions.ID) (sessions.Record, error) {
	record, err := r.store.Session(ctx, id)
	if err == nil && !record.Ended.IsZero() {
		err = sessions.ErrNotFound
	}
	return record, err
}

// sessionAt finds the session of a conversation, for what peer says there or is
// told: the conversation counts under its oldest id. An empty agent means the one that listens
// there. Where there is no session yet, the record has its key and agent alone.
func (r *Router) sessionAt(ctx context.Context, s *Settings, agent string, route sessions.Route, peer sessions.UserID) (sessions.Record, error) {
	oldest, err := r.oldestID(ctx, route)
	if err != nil {
		return sessions.Record{}, err
	}
	route.Conversation = oldest
	agents := []string{agent}
	if agent == "" {
		agents = s.agentsFor(route, peer)
	}
	for _, agent := range agents {
		record, err := r.store.SessionByKey(ctx, s.Keyer.Key(agent, route, peer))
		switch {
		case err == nil:
			return record, nil
		case !errors.Is(err, sessions.ErrNotFound):
			return record, fmt.Errorf("read session: %w", err)
		}
	}
	certain := agents[len(agents)-1]
	return sessions.Record{Key: s.Keyer.Key(certain, route, peer), Agent: certain}, nil
}

func (r *Router) newRecord(key sessions.Key, agent string, route sessions.Route) sessions.Record {
	id := sessions.NewID()
	now := r.now()
	return sessions.Record{
		ID: id, Key: key, Agent: agent, Partition: sessions.SessionLane(id).Partition(r.partitions),
		Taint: flow.Bottom(), Clearance: r.settings.Load().clearance(true, flow.Restricted), Route: route.Place(), Title: flow.NewText(route.Title, flow.NewLabel(r.gate.SinkLevel(route), flow.Trusted)),
		FileAccess: sessions.FileAccess{Read: []string{""}, Write: []string{""}},
		Persistent: true, Created: now, LastActivity: now,
	}
}
