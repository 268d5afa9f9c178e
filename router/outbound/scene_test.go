package outbound

import (
	"context"
	"errors"
	"time"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/sessions"
)

var (
	errDisk = errors.New("disk I/O error")
	noon    = time.Date(2027, time.January, 15, 12, 0, 0, 0, time.UTC)
)

// fakeStore has what its fields have. broken is the method that fails. What a test does not give must not be asked.
type fakeStore struct {
	place.Store
	batch   []sessions.Run
	files   map[sessions.MediaID]ledger.Media
	peer    sessions.UserID // of every direct chat; "-": nobody was noted
	oldest  sessions.ConversationID
	records map[sessions.Key]sessions.Record
	paired  bool
	broken  string
}

func (s *fakeStore) fails(method string) error {
	if s.broken == method {
		return errDisk
	}
	return nil
}

func (s *fakeStore) SessionByKey(_ context.Context, key sessions.Key) (sessions.Record, error) {
	record, ok := s.records[key]
	if !ok && s.broken != "SessionByKey" {
		return record, sessions.ErrNotFound
	}
	return record, s.fails("SessionByKey")
}

func (s *fakeStore) Batch(context.Context, sessions.RunID) ([]sessions.Run, error) {
	return s.batch, s.fails("Batch")
}

func (s *fakeStore) MediaInfo(_ context.Context, id sessions.MediaID) (ledger.Media, error) {
	m, ok := s.files[id]
	if !ok && s.broken != "MediaInfo" {
		return m, sessions.ErrNotFound
	}
	return m, s.fails("MediaInfo")
}

func (s *fakeStore) PeerOf(context.Context, string, string, sessions.ConversationID) (sessions.UserID, error) {
	if s.peer == "-" {
		return "", sessions.ErrNotFound
	}
	return s.peer, s.fails("PeerOf")
}

func (s *fakeStore) CanonicalConversation(_ context.Context, _, _ string, id sessions.ConversationID) (sessions.ConversationID, error) {
	if s.oldest != "" {
		id = s.oldest
	}
	return id, s.fails("CanonicalConversation")
}

func (s *fakeStore) PairingOf(context.Context, string, string, sessions.UserID) (ledger.Pairing, error) {
	if !s.paired {
		return ledger.Pairing{}, sessions.ErrNotFound
	}
	return ledger.Pairing{Status: ledger.PairingApproved, Expires: noon.Add(time.Hour)}, nil
}

// fakeGate answers as its fields say.
type fakeGate struct {
	decide func(policy.Egress) policy.Decision
	level  flow.Level
}

func (g fakeGate) Decide(e policy.Egress) policy.Decision {
	if g.decide == nil {
		return policy.Decision{Action: policy.Allow}
	}
	return g.decide(e)
}
func (g fakeGate) Carries(policy.Egress) flow.Level    { return g.level }
func (g fakeGate) SinkLevel(sessions.Route) flow.Level { return g.level }

// composer makes deliveries on a store, for an owner on channel test.
func composer(store *fakeStore) *Composer {
	s := &place.Settings{
		Agent: "main", Keyer: sessions.Keyer{Scope: sessions.ScopePerPeer}, Owners: []string{"test:owner"},
		Channels: map[string]place.ChannelSettings{"test": {DMPolicy: place.AccessPairing, AllowFrom: []string{"ann"}}, "open": {DMPolicy: place.AccessOpen}},
	}
	settings := func() *place.Settings { return s }
	now := func() time.Time { return noon }
	places := &place.Places{Store: store, Settings: settings, SinkLevel: fakeGate{level: flow.Internal}.SinkLevel, Now: now, Partitions: 4}
	return &Composer{Store: store, Gate: fakeGate{}, Places: places, Settings: settings, Partitions: 4, Now: now}
}
