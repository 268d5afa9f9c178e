package sessions_test

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/store/sqlite"
	"sluice/store/sqlite/sqlitetest"
)

// Several writers store the same session at once. Each that is told of a conflict reads
// again and does its step again: nothing is lost, nothing is there twice.
func TestWritersInParallel(t *testing.T) {
	t.Parallel()
	const writers, each = 4, 12
	db, err := sqlite.Open(t.Context(), sqlite.Config{Dir: sqlitetest.Dir(t), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	record := sessions.Record{ID: sessions.NewID(), Key: "agent:main:main", Agent: "main", Taint: flow.Bottom(), Clearance: flow.Restricted}
	require.NoError(t, sessions.NewSession(db, record, time.Now).Persist(t.Context()))

	write := func(w int) error {
		s, err := sessions.LoadSession(t.Context(), db, record, time.Now)
		for i := 0; err == nil && i < each; {
			s.Append(user(fmt.Sprintf("%d/%d", w, i)))
			if err = s.Persist(t.Context()); err == nil {
				i++
			}
			if errors.Is(err, sessions.ErrConflict) {
				err = s.Reload(t.Context(), true)
			}
		}
		return err
	}
	ended := make([]error, writers)
	var wait sync.WaitGroup
	for w := range writers {
		wait.Go(func() { ended[w] = write(w) })
	}
	wait.Wait()
	require.NoError(t, errors.Join(ended...))

	stored, err := db.Session(t.Context(), record.ID)
	require.NoError(t, err)
	thread, err := db.Thread(t.Context(), stored)
	require.NoError(t, err)
	seen := map[string]int{}
	for _, m := range thread {
		seen[m.Text()]++
	}
	require.Len(t, thread, writers*each, "one thread, without branches")
	require.Len(t, seen, writers*each)
}

// The answer to a commit was lost, and somebody else stored the session before it was asked about.
func TestLostAnswerAndAnotherWriter(t *testing.T) {
	t.Parallel()
	for _, applied := range []bool{false, true} {
		t.Run(fmt.Sprint("applied ", applied), func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			b.Append(user("one"))
			require.NoError(t, b.Persist(t.Context()))
			b.Append(user("two"))
			b.store.FailAt(1, applied)
			require.Error(t, b.Persist(t.Context()))
			other := b.load(t)
			other.Append(user("other"))
			require.NoError(t, other.Persist(t.Context()))

			err := b.Persist(t.Context())
			if applied {
				require.NoError(t, err, "it is stored, and what came after it is no loss")
				require.False(t, b.Dirty())
				b.Append(user("three"))
				err = b.Persist(t.Context())
			}
			require.ErrorIs(t, err, sessions.ErrConflict)
			require.True(t, b.Dirty())
			require.ErrorIs(t, b.Persist(t.Context()), sessions.ErrConflict, "however often")
			require.NoError(t, b.Reload(t.Context(), true))
			want := []string{"one", "two", "other"}
			if !applied {
				want = []string{"one", "other"}
			}
			require.Equal(t, want, texts(b.Messages()))
		})
	}
}

func TestAppendReplacesAKnownID(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	m := user("one")
	m.ID = sessions.NewMessageID()
	b.Append(m, m)
	thread := b.Messages()
	require.Equal(t, m.ID, thread[0].ID)
	require.NotEqual(t, m.ID, thread[1].ID)
	require.Equal(t, m.ID, thread[1].Parent)
	require.NoError(t, b.Persist(t.Context()))
}
