package place

import (
	"context"

	"sluice/sessions"
)

// Found caches what one attempt to admit an event has read about its conversation, so that access and session are
// decided from the same rows. A commit that meets newer rows is a conflict, and the next attempt reads again.
type Found struct {
	oldest  sessions.ConversationID
	session *sessions.Record
}

// oldestOf is the oldest id of an event's conversation.
func (pl *Places) oldestOf(ctx context.Context, in Arrival) (sessions.ConversationID, error) {
	if in.Found != nil && in.Found.oldest != "" {
		return in.Found.oldest, nil
	}
	oldest, err := pl.OldestID(ctx, in.Route)
	if in.Found != nil && err == nil {
		in.Found.oldest = oldest
	}
	return oldest, err
}

func (pl *Places) sessionHere(ctx context.Context, s *Settings, in Arrival) (sessions.Record, error) {
	if in.Found != nil && in.Found.session != nil {
		return *in.Found.session, nil
	}
	oldest, err := pl.oldestOf(ctx, in)
	if err != nil {
		return sessions.Record{}, err
	}
	route := in.Route
	route.Conversation = oldest
	record, err := pl.sessionIn(ctx, s, "", route, in.Sender.ID)
	if in.Found != nil && err == nil {
		in.Found.session = &record
	}
	return record, err
}
