package postgres_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"sluice/sessions"
	"sluice/store"
	"sluice/store/storetest"
)

func rawDatabase(t *testing.T, url string) *sql.DB {
	t.Helper()
	raw, err := sql.Open("pgx", url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, raw.Close()) })
	return raw
}

func TestTamper(t *testing.T) {
	t.Parallel()
	url := migrated.Copy(t)
	storetest.Tamper(t, storetest.Tampering{
		DB: open(t, url), Raw: rawDatabase(t, url),
		Refused: []string{
			`TRUNCATE audit`, `TRUNCATE audit_heads`,
			`INSERT INTO audit SELECT * FROM audit WHERE seq = 3 ON CONFLICT (chain, seq) DO UPDATE SET actor = 'nobody'`,
		},
		Disarm: []string{`ALTER TABLE audit DISABLE TRIGGER USER`, `ALTER TABLE audit_heads DISABLE TRIGGER USER`},
	})
}

func TestOlderTrailIsSealed(t *testing.T) {
	t.Parallel()
	url := storetest.Postgres(t)
	storetest.Unsealed(t, rawDatabase(t, url), goose.DialectPostgres)
	storetest.Sealed(t, open(t, url))
}

// TestLostHead: where the trail can't be added to, nothing is done that it would have to tell of.
func TestLostHead(t *testing.T) {
	t.Parallel()
	url := migrated.Copy(t)
	db := open(t, url)
	execute(t, url, `ALTER TABLE audit_heads DISABLE TRIGGER USER; DELETE FROM audit_heads`)
	unavailable(t, tell(t.Context(), db, "1", 1), "the audit trail can't be extended")
	_, err := db.Event(t.Context(), "1-0")
	require.ErrorIs(t, err, sessions.ErrNotFound)
	require.NoError(t, db.Commit(t.Context(), event("2")))
}

// TestBrokenChain sets a head back, so that the next entry has the place of one that is there.
func TestBrokenChain(t *testing.T) {
	t.Parallel()
	url := migrated.Copy(t)
	db := open(t, url)
	require.NoError(t, tell(t.Context(), db, "first", 1))
	execute(t, url, `ALTER TABLE audit_heads DISABLE TRIGGER USER; UPDATE audit_heads SET seq = 0, hash = ''`)
	unavailable(t, tell(t.Context(), db, "second", 1), "the audit trail can't be extended")
	_, err := db.Event(t.Context(), "second-0")
	require.ErrorIs(t, err, sessions.ErrNotFound)
}

// TestReplicasTell lets two gateways add to the trail at once. At first every chain
// is held by others: who finds none free waits for one.
func TestReplicasTell(t *testing.T) {
	t.Parallel()
	const each, writers = 30, 8
	url := migrated.Copy(t)
	replicas := []*store.DB{open(t, url), open(t, url)}
	release := hold(t, url, `SELECT 1 FROM audit_heads FOR UPDATE`)
	results := make(chan error, len(replicas)*writers)
	for r, db := range replicas {
		for w := range writers {
			go func() { results <- tell(t.Context(), db, fmt.Sprint(r, "-", w), each) }()
		}
	}
	require.True(t, waiters(t, url, len(replicas), results))
	release()
	for range len(replicas) * writers {
		require.NoError(t, <-results)
	}
	report, err := replicas[1].VerifyAudit(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, report.Faults)
	require.Greater(t, len(report.Heads), 1, "they have waited for each other")
	require.EqualValues(t, len(replicas)*writers*each, report.Entries)
}

// tell commits n events, each with an entry of the trail.
func tell(ctx context.Context, db *store.DB, name string, n int) error {
	for i := range n {
		change := event(fmt.Sprint(name, "-", i))
		change.Audit = []sessions.AuditEntry{{Action: "told", Object: change.Event.Key}}
		if err := db.Commit(ctx, change); err != nil {
			return err
		}
	}
	return nil
}

// TestServerCrashesWhileTelling: after it, the trail is whole and tells exactly of what was stored.
func TestServerCrashesWhileTelling(t *testing.T) {
	t.Parallel()
	const writers, enough = 6, 60
	server := storetest.NewServer(t)
	url := server.Database(t)
	db := open(t, url)
	acknowledged := make(chan string)
	for w := range writers {
		go func() {
			for i := 0; ; i++ {
				name := fmt.Sprint(w, "-", i)
				if tell(t.Context(), db, name, 1) != nil {
					acknowledged <- ""
					return
				}
				acknowledged <- name + "-0"
			}
		}()
	}
	var keys []string
	for ended := 0; ended < writers; {
		if key := <-acknowledged; key == "" {
			ended++
		} else if keys = append(keys, key); len(keys) == enough {
			server.Stop(t)
		}
	}
	server.Start(t)
	require.NoError(t, db.Ready(t.Context()))
	for _, key := range keys {
		_, err := db.Event(t.Context(), key)
		require.NoError(t, err, "acknowledged %s is lost", key)
	}
	report, err := db.VerifyAudit(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, report.Faults)
	var told, stored int64
	raw := rawDatabase(t, url)
	require.NoError(t, raw.QueryRowContext(t.Context(), `SELECT count(*) FROM audit JOIN events ON event_key = object`).Scan(&told))
	require.NoError(t, raw.QueryRowContext(t.Context(), `SELECT count(*) FROM events`).Scan(&stored))
	require.Equal(t, report.Entries, told)
	require.Equal(t, stored, told)
}

func TestEarlierTexts(t *testing.T) {
	t.Parallel()
	url := migrated.Copy(t)
	storetest.Earlier(t, open(t, url), rawDatabase(t, url))
}
