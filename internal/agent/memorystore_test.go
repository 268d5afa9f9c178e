package agent_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
	"sluice/store/sqlite"
	"sluice/store/sqlite/sqlitetest"
)

// memoryStore is the store of memories; nil: nothing is remembered.
type memoryStore struct{ memories }

type memories interface {
	Remembers(ctx context.Context, namespace string) (bool, error)
	SaveMemory(ctx context.Context, s sessions.MemorySave) error
	DeleteMemory(ctx context.Context, d sessions.MemoryDelete) error
	MemoriesByKey(ctx context.Context, q sessions.MemoryKeyed) ([]sessions.Memory, error)
	Memories(ctx context.Context, q sessions.MemoryQuery) ([]sessions.Memory, error)
	SearchMemories(ctx context.Context, q sessions.MemorySearch) ([]sessions.Memory, error)
}

// Remembers implements [agent.Store].
func (m memoryStore) Remembers(ctx context.Context, namespace string) (bool, error) {
	if m.memories == nil {
		return false, nil
	}
	return m.memories.Remembers(ctx, namespace)
}

// Memories implements [agent.Store].
func (m memoryStore) Memories(ctx context.Context, q sessions.MemoryQuery) ([]sessions.Memory, error) {
	if m.memories == nil {
		return nil, nil
	}
	return m.memories.Memories(ctx, q)
}

// SearchMemories implements [agent.Store].
func (m memoryStore) SearchMemories(ctx context.Context, q sessions.MemorySearch) ([]sessions.Memory, error) {
	if m.memories == nil {
		return nil, nil
	}
	return m.memories.SearchMemories(ctx, q)
}

// remembering is a bundle with a store of memories.
func remembering(t *testing.T, answers ...sessiontest.Answer) *bundle {
	t.Helper()
	b := newBundle(t, answers...)
	db, err := sqlite.Open(t.Context(), sqlite.Config{Dir: sqlitetest.Dir(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	b.store.memories = db
	return b
}

// at is a session with a key that has learnt something of a level already.
func (b *bundle) at(t *testing.T, key sessions.Key, level flow.Level, owner bool) {
	t.Helper()
	b.as(t, b.record(key, flow.NewLabel(level, flow.Trusted)), owner)
}

type memoryRow struct {
	Key, Content, Classification, Audience string
	Tags                                   []string
	Truncated                              bool
	UpdatedAt                              string `json:"updated_at"`
	ExpiresAt                              string `json:"expires_at"`
}

type memoryAnswer struct {
	memoryRow
	Saved, Found, Deleted bool
	Query, Next           string
	Results, Memories     []memoryRow
}

// remember calls a memory tool and reads its answer.
func (b *bundle) remember(t *testing.T, tool string, args map[string]any) memoryAnswer {
	t.Helper()
	part := b.call(t, tool, args)
	require.False(t, part.Error, part.Text)
	var got memoryAnswer
	require.NoError(t, json.Unmarshal([]byte(part.Text), &got), part.Text)
	return got
}

func (b *bundle) call(t *testing.T, tool string, args map[string]any) sessions.Part {
	t.Helper()
	text, err := json.Marshal(args)
	require.NoError(t, err)
	return b.tool(t, tool, string(text))
}

// keysOf are the keys of rows.
func keysOf(rows []memoryRow) []string {
	keys := []string{}
	for _, r := range rows {
		keys = append(keys, r.Key)
	}
	return keys
}
