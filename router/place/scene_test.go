package place

import (
	"context"
	"errors"
	"time"

	"sluice/adapters"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

var (
	errBroken = errors.New("the store is broken")
	today     = time.Date(2027, time.January, 15, 12, 0, 0, 0, time.UTC)
)

// fakeStore has what its fields have. broken is the method that fails.
type fakeStore struct {
	records  []sessions.Record
	waiting  map[sessions.ID][]sessions.Run
	heard    map[sessions.ID]time.Time
	pairings map[sessions.UserID]ledger.PairingStatus
	older    map[sessions.ConversationID]sessions.ConversationID
	broken   string
}

func (s *fakeStore) fails(method string) error {
	if s.broken == method {
		return errBroken
	}
	return nil
}

func (s *fakeStore) Session(_ context.Context, id sessions.ID) (sessions.Record, error) {
	for _, r := range s.records {
		if r.ID == id {
			return r, s.fails("Session")
		}
	}
	return sessions.Record{}, sessions.ErrNotFound
}

func (s *fakeStore) ArchivedSession(_ context.Context, key sessions.Key) (sessions.Record, error) {
	for _, r := range s.records {
		if r.Key == key && r.Archived {
			return r, nil
		}
	}
	return sessions.Record{}, sessions.ErrNotFound
}

func (s *fakeStore) SessionByKey(_ context.Context, key sessions.Key) (sessions.Record, error) {
	if err := s.fails("SessionByKey"); err != nil {
		return sessions.Record{}, err
	}
	if err := s.fails("SessionByKey " + string(key)); err != nil {
		return sessions.Record{}, err
	}
	for _, r := range s.records {
		if r.Key == key {
			return r, nil
		}
	}
	return sessions.Record{}, sessions.ErrNotFound
}

func (s *fakeStore) WaitingRuns(_ context.Context, id sessions.ID, limit int) ([]sessions.Run, error) {
	runs := s.waiting[id]
	return runs[:min(limit, len(runs))], s.fails("WaitingRuns")
}

func (s *fakeStore) LastHeard(_ context.Context, id sessions.ID) (time.Time, error) {
	if err := s.fails("LastHeard"); err != nil {
		return time.Time{}, err
	}
	at, ok := s.heard[id]
	if !ok {
		return at, sessions.ErrNotFound
	}
	return at, nil
}

func (s *fakeStore) PairingOf(_ context.Context, _, _ string, user sessions.UserID) (ledger.Pairing, error) {
	if err := s.fails("PairingOf"); err != nil {
		return ledger.Pairing{}, err
	}
	status, ok := s.pairings[user]
	if !ok {
		return ledger.Pairing{}, sessions.ErrNotFound
	}
	return ledger.Pairing{Status: status}, nil
}

func (s *fakeStore) CanonicalConversation(_ context.Context, _, _ string, id sessions.ConversationID) (sessions.ConversationID, error) {
	if older, ok := s.older[id]; ok {
		return older, s.fails("CanonicalConversation")
	}
	return id, s.fails("CanonicalConversation")
}

// newPlaces are places on a store, at noon, where every way out is public and sessions may be replaced.
func newPlaces(store *fakeStore, s *Settings) *Places {
	return &Places{
		Store: store, Settings: func() *Settings { return s }, SinkLevel: func(sessions.Route) flow.Level { return flow.Public },
		Judge: func(sessions.Record, string, bool) policy.Decision { return policy.Decision{Action: policy.Allow} },
		Now:   func() time.Time { return today }, Partitions: 4,
	}
}

// newSettings are settings with one channel.
func newSettings(ch ChannelSettings) *Settings {
	return &Settings{Agent: "main", Keyer: sessions.Keyer{Scope: sessions.ScopePerPeer}, Channels: map[string]ChannelSettings{"test": ch}}
}

// direct is what somebody says in a direct chat.
func direct(who sessions.UserID) Arrival {
	return Arrival{Inbound: adapters.Inbound{
		Route:  sessions.Route{Channel: "test", Account: "default", ChatType: sessions.Direct, Conversation: sessions.ConversationID("chat of " + string(who))},
		Sender: sessions.Peer{ID: who}, Mentioned: true,
	}}
}

// inGroup is what somebody says in a group, in a thread of it where one is named.
func inGroup(group sessions.ConversationID, thread sessions.ThreadID, who sessions.UserID, mentioned bool) Arrival {
	return Arrival{Inbound: adapters.Inbound{
		Route:  sessions.Route{Channel: "test", Account: "default", ChatType: sessions.Group, Conversation: group, Thread: thread},
		Sender: sessions.Peer{ID: who}, Mentioned: mentioned,
	}}
}

// changed is an arrival that is different in something.
func changed(in Arrival, change func(*Arrival)) Arrival {
	change(&in)
	return in
}
