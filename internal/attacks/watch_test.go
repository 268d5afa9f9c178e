package attacks_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/store/sqlite"
)

// watch looks into the database of a gateway through a connection of its own: one statement on one state of the database,
// where the HTTP API would be asked five times for each look.
type watch struct {
	db   *sql.DB
	busy *sql.Stmt
}

func newWatch(t testing.TB, dir string) *watch {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, sqlite.FileName)+"?_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	busy, err := db.PrepareContext(t.Context(), `SELECT EXISTS (SELECT 1 FROM runs WHERE status IN ('queued', 'running'))
		OR EXISTS (SELECT 1 FROM deliveries WHERE status IN ('queued', 'sending')) OR EXISTS (SELECT 1 FROM deliveries WHERE status IN ('preview', ''))`)
	require.NoError(t, err)
	return &watch{db, busy}
}

// idle reports whether no run waits or works and nothing is on its way out. The end of a step and the begin of the next one
// are one commit, so that no look falls between them.
func (w *watch) idle(t testing.TB) bool {
	t.Helper()
	var busy bool
	require.NoError(t, w.busy.QueryRowContext(t.Context()).Scan(&busy))
	return !busy
}

func (w *watch) close(t testing.TB) {
	t.Helper()
	require.NoError(t, w.db.Close())
}
