package refused_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/refused"
	"sluice/sessions"
)

type store struct {
	mu    sync.Mutex
	away  bool
	saved [][]ledger.Refusal
}

// goes makes the store fail, or work again.
func (s *store) goes(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

func (s *store) SaveRefusals(_ context.Context, all []ledger.Refusal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return errors.New("the store is away")
	}
	s.saved = append(s.saved, all)
	return nil
}

// all is what was saved until now, a slice for each commit.
func (s *store) all() [][]ledger.Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.saved)
}

func from(user int) adapters.Inbound {
	return adapters.Inbound{Route: sessions.Route{Channel: "telegram", Account: "default", ChatType: sessions.Direct, Conversation: "c"}, Sender: sessions.Peer{ID: sessions.UserID(fmt.Sprint(user))}}
}

// A flood of strangers is counted and stored in few commits, and bounded.
func TestRefusalsAreStoredTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		l := &refused.Log{Store: s, SinkLevel: func(sessions.Route) flow.Level { return flow.Internal }, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); l.Run(ctx) }()
		for range 3 {
			l.Note(from(1), "why")
		}
		require.Empty(t, s.all(), "it does not wait for the store")
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.Len(t, s.all(), 1)
		require.Equal(t, 3, s.all()[0][0].Count)
		require.Equal(t, flow.Internal, s.all()[0][0].Level)
		for i := range 1000 {
			l.Note(from(i), "why")
		}
		cancel()
		<-done
		l.StoreRest(t.Context())
		require.Len(t, s.all(), 2)
		require.Len(t, s.all()[1], 500)
	})
}

// What could not be stored is stored later, with what was noted meanwhile, and within the bound.
func TestRefusalsOutliveAStoreThatFails(t *testing.T) {
	t.Parallel()
	s, now := &store{away: true}, time.Unix(100, 0)
	l := &refused.Log{Store: s, SinkLevel: func(sessions.Route) flow.Level { return flow.Internal }, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}
	l.Note(from(1), "old")
	l.Note(from(2), "old")
	l.StoreRest(t.Context())
	now = now.Add(time.Minute)
	l.Note(from(1), "new")
	l.StoreRest(t.Context())
	s.goes(false)
	l.StoreRest(t.Context())
	saved := s.all()
	require.Len(t, saved, 1)
	require.Len(t, saved[0], 2)
	for _, r := range saved[0] {
		if r.User.ID == "1" {
			require.Equal(t, []any{2, "new", time.Unix(100, 0), now}, []any{r.Count, r.Reason, r.First, r.Last})
		}
	}
	s.goes(true)
	for range 2 {
		for i := range 400 {
			l.Note(from(i), "why")
		}
		l.StoreRest(t.Context())
		for i := range 400 {
			l.Note(from(1000+i), "why")
		}
	}
	s.goes(false)
	l.StoreRest(t.Context())
	require.Len(t, s.all()[1], 500)
	l.StoreRest(t.Context())
	require.Len(t, s.all(), 2, "nothing is left")
}

// A refusal has at least the level of its channel: who may not know of the channel reads no page that leaves room for it.
func TestARefusalHasTheLevelOfItsChannel(t *testing.T) {
	t.Parallel()
	s := &store{}
	l := &refused.Log{Store: s, Now: time.Now, Log: slog.New(slog.DiscardHandler), SinkLevel: func(r sessions.Route) flow.Level {
		if r.Conversation == "outside" {
			return flow.Public
		}
		return flow.Confidential
	}}
	for i, c := range []struct {
		note func(in adapters.Inbound)
		want flow.Level
	}{
		{func(in adapters.Inbound) { l.Note(in, "why") }, flow.Confidential},
		{func(in adapters.Inbound) { l.NoteAt(in, flow.Public, "why") }, flow.Confidential},
		{func(in adapters.Inbound) { l.NoteAt(in, flow.Restricted, "why") }, flow.Restricted},
	} {
		in := from(i)
		in.Route.Conversation = "outside"
		c.note(in)
		l.StoreRest(t.Context())
		require.Equal(t, c.want, s.all()[i][0].Level)
	}
}
