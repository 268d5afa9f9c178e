package work

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

// opening counts the sessions that it opens.
type opening struct {
	Agent
	store  sessions.Store
	opened int
}

func (o *opening) Open(ctx context.Context, record sessions.Record) (*sessions.Session, error) {
	o.opened++
	return sessions.LoadSession(ctx, o.store, record, time.Now)
}

func said(text string) sessions.Message {
	return sessions.Message{Role: sessions.RoleUser, Parts: []sessions.Part{sessions.TextPart(text, flow.Bottom())}}
}

// A session that is kept open follows what another writer has stored, and forgets what was broken off, without being opened
// again.
func TestAnOpenSessionIsReloaded(t *testing.T) {
	t.Parallel()
	store := sessiontest.NewMemory()
	first := sessions.NewSession(store, sessions.Record{ID: sessions.NewID(), Key: "agent:main:main", Agent: "main"}, time.Now)
	first.Append(said("one"))
	require.NoError(t, first.Persist(t.Context()))
	agent := &opening{store: store}
	c := &claimer{agent: agent, cache: newSessionCache(2, cachedBytes)}
	opened := func() *sessions.Session {
		record, err := store.Session(t.Context(), first.Record().ID)
		require.NoError(t, err)
		s, err := c.open(t.Context(), record)
		require.NoError(t, err)
		return s
	}
	kept := opened()
	require.Same(t, kept, opened())

	first.Append(said("two"))
	require.NoError(t, first.Persist(t.Context()))
	require.Same(t, kept, opened())
	require.Equal(t, first.Messages(), kept.Messages(), "what another writer has stored")

	kept.Append(said("broken off"))
	require.Same(t, kept, opened())
	require.Equal(t, first.Messages(), kept.Messages())
	require.False(t, kept.Dirty())
	require.Equal(t, 1, agent.opened)

	model := flow.NewText("a/b", flow.Bottom())
	require.NoError(t, first.Patch(sessions.Patch{Model: &model}))
	require.NoError(t, first.Persist(t.Context()))
	require.NotSame(t, kept, opened(), "another model has to be opened")
}
