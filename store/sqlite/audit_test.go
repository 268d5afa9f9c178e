package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"sluice/sessions"
	"sluice/store/sqlite"
	"sluice/store/storetest"
)

func rawDatabase(t *testing.T, dir string) *sql.DB {
	t.Helper()
	raw, err := sql.Open("sqlite", filepath.Join(dir, sqlite.FileName)+"?_pragma=busy_timeout(5000)&_pragma=synchronous(OFF)")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, raw.Close()) })
	return raw
}

func TestTamper(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	storetest.Tamper(t, storetest.Tampering{
		DB: open(t, dir), Raw: rawDatabase(t, dir),
		Refused: []string{
			`INSERT OR REPLACE INTO audit SELECT chain, seq, at, 'nobody', action, object, session_id, level, trust, detail, hash FROM audit WHERE seq = 3`,
			`INSERT OR REPLACE INTO audit_heads VALUES (0, 1, '')`,
			`UPDATE OR REPLACE audit SET seq = 4 WHERE seq = 3`,
		},
		Disarm: []string{
			`DROP TRIGGER audit_no_update`, `DROP TRIGGER audit_no_delete`, `DROP TRIGGER audit_append`,
			`DROP TRIGGER audit_heads_no_delete`, `DROP TRIGGER audit_heads_forward`, `DROP TRIGGER audit_heads_new`,
		},
	})
}

func TestOlderTrailIsSealed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	storetest.Unsealed(t, rawDatabase(t, dir), goose.DialectSQLite3)
	storetest.Sealed(t, open(t, dir))
}

// TestLostHead: where the trail can't be added to, nothing is done that it would have to tell of.
func TestLostHead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, raw := open(t, dir), rawDatabase(t, dir)
	for _, text := range []string{`DROP TRIGGER audit_heads_no_delete`, `DELETE FROM audit_heads`} {
		_, err := raw.ExecContext(t.Context(), text)
		require.NoError(t, err)
	}
	told := event("1")
	told.Audit = []sessions.AuditEntry{{Action: "told"}}
	unavailable(t, db.Commit(t.Context(), told), "the audit trail can't be extended")
	_, err := db.Event(t.Context(), "1")
	require.ErrorIs(t, err, sessions.ErrNotFound)
	require.NoError(t, db.Commit(t.Context(), event("2")))
}

func TestEarlierTexts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	storetest.Earlier(t, open(t, dir), rawDatabase(t, dir))
}
