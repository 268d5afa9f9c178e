package postgres_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/sessions"
)

// What has ended, by whatever way, has no words any more, and what has not has all of them.
func TestPostingsAreOfWhatHasNotEnded(t *testing.T) {
	t.Parallel()
	url := migrated.Copy(t)
	db, raw := open(t, url), rawDatabase(t, url)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	memory := func(key, content string, level flow.Level) sessions.Memory {
		return sessions.Memory{
			ID: sessions.NewMemoryID(), Namespace: "main", Audience: sessions.AudienceOwner, Label: flow.NewLabel(level, flow.Trusted),
			Key: key, Content: content, Tags: []string{"a tag"}, Session: "sess_1", Run: "run_1", Created: now, Updated: now,
		}
	}
	save := func(m sessions.Memory) {
		require.NoError(t, db.SaveMemory(t.Context(), sessions.MemorySave{Memory: m, MaxEntries: 100, MaxBytes: 1 << 20}))
	}
	remove := func(key string, uncover bool) {
		require.NoError(t, db.DeleteMemory(t.Context(), sessions.MemoryDelete{Memory: memory(key, "", flow.Internal), Uncover: uncover}))
	}
	words := func() (found []string) {
		rows, err := raw.QueryContext(t.Context(), `SELECT m.mkey || ' ' || m.level || ' ' || p.in_labels || ' ' || p.word
			FROM memory_postings p LEFT JOIN memories m ON m.seq = p.seq AND m.level = p.level ORDER BY 1`)
		require.NoError(t, err)
		defer func() { require.NoError(t, rows.Close()) }()
		for rows.Next() {
			var word string
			require.NoError(t, rows.Scan(&word), "a word of a row that is gone")
			found = append(found, word)
		}
		require.NoError(t, rows.Err())
		return found
	}
	kept := []string{"kept 1 false plan", "kept 1 true a", "kept 1 true kept", "kept 1 true tag"}
	save(memory("kept", "plans, the plan", flow.Public))
	require.Subset(t, words(), kept)
	long := strings.Repeat("\u0101", 5000)
	for _, key := range []string{"replaced", "deleted", "uncovered", "expired"} {
		save(memory(key, "low "+long, flow.Public))
		m := memory(key, "high", flow.Internal)
		if key == "expired" {
			m.Expires = now.Add(time.Minute)
		}
		save(m)
	}
	save(memory("replaced", "newer", flow.Internal))
	remove("deleted", false)
	remove("uncovered", true)
	_, err := db.SweepMemories(t.Context(), now.Add(time.Hour), now, 100)
	require.NoError(t, err)
	all := strings.Join(words(), "\n")
	require.NotContains(t, all, "high")
	require.Contains(t, all, "replaced 2 false newer")
	for _, key := range []string{"deleted", "uncovered", "expired"} {
		require.NotContains(t, all, fmt.Sprintf("%s 2 ", key))
		require.Contains(t, all, fmt.Sprintf("%s 1 false low", key))
	}
	_, err = db.SweepMemories(t.Context(), now.Add(2*365*24*time.Hour), now.Add(365*24*time.Hour), 100)
	require.NoError(t, err)
	require.Equal(t, all, strings.Join(words(), "\n"), "what is deleted long after has had none")
}
