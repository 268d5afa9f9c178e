package place

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/request"
	"sluice/sessions"
)

// SessionFor finds the session of an event, or creates its record.
func (pl *Places) SessionFor(ctx context.Context, s *Settings, in Arrival, owner bool) (record sessions.Record, fresh bool, err error) {
	if in.Session != "" {
		record, err = pl.LiveSession(ctx, in.Session)
		return record, false, err
	}
	record, err = pl.sessionHere(ctx, s, in)
	if err != nil || record.ID != "" {
		return record, false, err
	}
	record = pl.NewRecord(record.Key, record.Agent, in.Route)
	record.Clearance, record.FileAccess = pl.begunWith(in, owner), pl.filesOf(in, owner, record.Agent)
	return record, true, nil
}

// begunWith is the clearance that a person gives a new session in their conversation. Sessions of the API get none:
// it is invalid.
func (pl *Places) begunWith(in Arrival, owner bool) flow.Level {
	if in.Session != "" {
		return flow.Level{}
	}
	return pl.Settings().clearance(owner, pl.SinkLevel(in.Route))
}

// filesOf is what a new session in a conversation sees of its agent's shared files: all of them if nobody but an owner speaks there.
func (pl *Places) filesOf(in Arrival, owner bool, agent string) sessions.FileAccess {
	if owner && in.Route.ChatType == sessions.Direct {
		return sessions.WholeWorkspace()
	}
	return pl.Settings().Guests[agent]
}

// LiveSession reads a session that has not ended.
func (pl *Places) LiveSession(ctx context.Context, id sessions.ID) (sessions.Record, error) {
	record, err := pl.Store.Session(ctx, id)
	if err == nil && !record.Ended.IsZero() {
		err = sessions.ErrNotFound
	}
	return record, err
}

// SessionAt finds the session of a conversation with peer; conversations are known by their oldest id. An empty agent
// means the agent bound to it. If there is no session yet, the record has only its key and agent.
func (pl *Places) SessionAt(ctx context.Context, s *Settings, agent string, route sessions.Route, peer sessions.UserID) (sessions.Record, error) {
	oldest, err := pl.OldestID(ctx, route)
	if err != nil {
		return sessions.Record{}, err
	}
	route.Conversation = oldest
	return pl.sessionIn(ctx, s, agent, route, peer)
}

// sessionIn is SessionAt for a route with the conversation's oldest id.
func (pl *Places) sessionIn(ctx context.Context, s *Settings, agent string, route sessions.Route, peer sessions.UserID) (sessions.Record, error) {
	agents := []string{agent}
	if agent == "" {
		agents = s.agentsFor(route, peer)
	}
	for _, agent := range agents {
		record, err := pl.Store.SessionByKey(ctx, s.Keyer.Key(agent, route, peer))
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

// Resolve finds a live session by its key, its id, or "main".
func (pl *Places) Resolve(ctx context.Context, keyOrID string) (sessions.Record, error) {
	record, err := pl.Readable(ctx, keyOrID)
	if err == nil && !record.Ended.IsZero() {
		err = sessions.ErrNotFound
	}
	return record, err
}

// Readable is Resolve for a session that is only read: it finds archived ones too.
func (pl *Places) Readable(ctx context.Context, keyOrID string) (sessions.Record, error) {
	if id, err := sessions.ParseID(keyOrID); err == nil {
		record, err := pl.Store.Session(ctx, id)
		if err == nil && !record.Readable() {
			err = sessions.ErrNotFound
		}
		return record, err
	}
	s := pl.Settings()
	key, err := s.Keyer.Resolve(keyOrID, s.Agent)
	if err != nil {
		return sessions.Record{}, &request.Error{Field: "session", Text: err.Error()}
	}
	record, err := pl.Store.SessionByKey(ctx, key)
	if errors.Is(err, sessions.ErrNotFound) && key.SubAgent() {
		return pl.Store.ArchivedSession(ctx, key)
	}
	return record, err
}

// NewRecord creates the record of a new session.
func (pl *Places) NewRecord(key sessions.Key, agent string, route sessions.Route) sessions.Record {
	id := pl.newID(route)
	now := pl.Now()
	return sessions.Record{
		ID: id, Key: key, Agent: agent, Partition: pl.PartitionOf(id),
		Taint: flow.Bottom(), Clearance: pl.Settings().clearance(true, flow.Restricted), Route: route.Place(), Title: flow.NewText(route.Title, flow.NewLabel(pl.SinkLevel(route), flow.Trusted)),
		FileAccess: pl.Settings().files(key, agent),
		Persistent: true, Created: now, LastActivity: now,
	}
}

// newID returns an id in the partition of the session's conversation, so that the replica that works on the session also sends
// its replies. It tries one id for each partition on average.
func (pl *Places) newID(route sessions.Route) sessions.ID {
	id := sessions.NewID()
	if route.IsZero() {
		return id
	}
	for want := route.Lane().Partition(pl.Partitions); pl.PartitionOf(id) != want; {
		id = sessions.NewID()
	}
	return id
}

// files is what a session sees of its agent's shared files if no person's message begins it. In an agent's main session the owner
// speaks; the rest is heard from outside.
func (s *Settings) files(key sessions.Key, agent string) sessions.FileAccess {
	if key == s.Keyer.Main(agent) {
		return sessions.WholeWorkspace()
	}
	return s.Guests[agent]
}

// PartitionOf is the partition of a new session.
func (pl *Places) PartitionOf(id sessions.ID) int {
	return sessions.SessionLane(id).Partition(pl.Partitions)
}

// NewSubAgent creates the record of a session for another session's task. It has the label of the task, and its
// clearance and permissions never exceed those of the session that gives the task.
func (pl *Places) NewSubAgent(parent sessions.Record, agent, model, name string, label flow.Label) sessions.Record {
	id := sessions.NewID()
	child := parent.NewChild(sessions.Child{
		ID: id, Key: sessions.SubAgentKey(agent, uuid.NewString()), Agent: agent, Model: model, Title: name, Label: label, Now: pl.Now(),
	})
	child.Partition = pl.PartitionOf(id)
	return child
}

// NewAgentSession creates the record of an agent's main session, for a request to an agent that has no conversation
// yet.
func (pl *Places) NewAgentSession(agent string) sessions.Record {
	return pl.NewRecord(pl.Settings().Keyer.Main(agent), agent, sessions.Route{})
}

// Label is the label of a message in a conversation: the conversation's level, and trusted only from an owner.
func (pl *Places) Label(route sessions.Route, owner bool) flow.Label {
	trust := flow.Untrusted
	if owner {
		trust = flow.Trusted
	}
	return flow.NewLabel(pl.SinkLevel(route), trust)
}

// OldestID is the first known id of a conversation. Direct chats keep their ids.
func (pl *Places) OldestID(ctx context.Context, route sessions.Route) (sessions.ConversationID, error) {
	if route.ChatType == sessions.Direct || route.Conversation == "" {
		return route.Conversation, nil
	}
	oldest, err := pl.Store.CanonicalConversation(ctx, route.Channel, route.Account, route.Conversation)
	if err != nil {
		return "", fmt.Errorf("resolve conversation: %w", err)
	}
	return oldest, nil
}

// KeyReader finds the live session of a key.
type KeyReader interface {
	SessionByKey(ctx context.Context, key sessions.Key) (sessions.Record, error)
}

// InheritedSend is the send policy of a session: its own, else that of the conversation that its thread belongs to.
func InheritedSend(ctx context.Context, store KeyReader, record sessions.Record) (sessions.SendPolicy, error) {
	if record.SendPolicy != sessions.SendInherit || policy.CheckBelow.Skipped() {
		return record.SendPolicy, nil
	}
	parent, err := conversationOf(ctx, store, record)
	return parent.SendPolicy, err
}

// conversationOf returns the session of the conversation to which a thread's session belongs. It returns the zero value if the
// session is not a thread's, or if the conversation has no session.
func conversationOf(ctx context.Context, store KeyReader, record sessions.Record) (sessions.Record, error) {
	key := record.Key.Conversation()
	if key == record.Key {
		return sessions.Record{}, nil
	}
	found, err := store.SessionByKey(ctx, key)
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return sessions.Record{}, nil
	case err != nil:
		return sessions.Record{}, fmt.Errorf("read session of the conversation: %w", err)
	}
	return found, nil
}

// JoinedSend is the send policy for a message of a session to another place: each of the two may forbid it.
func JoinedSend(own, place sessions.SendPolicy) sessions.SendPolicy {
	if own == sessions.SendDeny || place == sessions.SendInherit {
		return own
	}
	return place
}

// AboveClearance says that a session may not learn data of a level, and how to get a session that may.
func AboveClearance(record sessions.Record, level flow.Level) string {
	return fmt.Sprintf("This conversation's clearance is %s, which is below %s. "+
		"An owner can send `/new` here to start one with the clearance that policy.clearance sets.", record.Clearance, level)
}
