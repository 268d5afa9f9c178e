package refused_test

import (
	"context"
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
	saved [][]ledger.Refusal
}

func (s *store) SaveRefusals(_ context.Context, all []ledger.Refusal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
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
