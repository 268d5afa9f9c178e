package sqlite_test

import (
	"database/sql"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store"
	"sluice/store/engine"
	"sluice/store/sqlite"
)

func config(dir string) sqlite.Config {
	return sqlite.Config{Dir: dir, Log: slog.New(slog.DiscardHandler)}
}

// unavailable checks that an error says what is wrong and what to do.
func unavailable(t *testing.T, err error, reason string) {
	t.Helper()
	var u *engine.Unavailable
	require.ErrorAs(t, err, &u)
	require.Contains(t, u.Reason, reason)
	require.NotEmpty(t, u.Fix)
}

func event(key string) ledger.Change {
	return ledger.Change{
		Event:  &ledger.Event{Key: key},
		Change: sessions.Change{Enqueue: []sessions.Run{{ID: sessions.RunID("run_" + key), Session: "sess_1", Status: sessions.RunQueued}}},
	}
}

func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	db := open(t, dir)
	require.NoError(t, db.Commit(t.Context(), event("1")))
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		info, err := f.Info()
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), f.Name())
	}
}

func TestSecondGateway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := open(t, dir)
	_, err := sqlite.Open(t.Context(), config(dir))
	unavailable(t, err, "another sluice uses the state folder")
	require.NoError(t, first.Commit(t.Context(), event("1")))
	require.NoError(t, first.Close())
	open(t, dir)
}

func TestNewerSchema(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, open(t, dir).Close())
	change(t, dir, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)`)
	require.NoError(t, open(t, dir).Close(), "what a newer program has added is not in the way")
	change(t, dir, `UPDATE schema_compatible SET since = 9000`)
	_, err := sqlite.Open(t.Context(), config(dir))
	unavailable(t, err, "schema has version 9999")
	change(t, dir, `DELETE FROM goose_db_version WHERE version_id = 9999`)
	open(t, dir)
}

// change alters a database that no gateway uses.
func change(t *testing.T, dir, text string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, sqlite.FileName))
	require.NoError(t, err)
	defer db.Close() //nolint:errcheck // what it did was checked
	_, err = db.ExecContext(t.Context(), text)
	require.NoError(t, err)
}

func TestDamagedFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, sqlite.FileName), []byte(strings.Repeat("no database ", 1000)), 0o600))
	_, err := sqlite.Open(t.Context(), config(dir))
	unavailable(t, err, "the database is damaged")
}

// TestDamagedPages breaks the pages behind the first, as a bad disk does, while the gateway is down.
func TestDamagedPages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := open(t, dir)
	require.NoError(t, db.Commit(t.Context(), event("1")))
	require.NoError(t, db.Close())
	path := filepath.Join(dir, sqlite.FileName)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	for i := 4096 * 4; i < len(data); i++ {
		data[i] = 0xA5
	}
	require.NoError(t, os.WriteFile(path, data, 0o600))

	db, err = sqlite.Open(t.Context(), config(dir))
	if err == nil {
		err = db.Commit(t.Context(), event("2"))
		unavailable(t, db.Ready(t.Context()), "the database is damaged")
		require.NoError(t, db.Close())
	}
	unavailable(t, err, "the database is damaged")
}

func TestLockedByAnotherProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := open(t, dir)
	other, err := sql.Open("sqlite", filepath.Join(dir, sqlite.FileName))
	require.NoError(t, err)
	defer other.Close() //nolint:errcheck // only read from
	conn, err := other.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close() //nolint:errcheck // the same
	_, err = conn.ExecContext(t.Context(), `BEGIN IMMEDIATE`)
	require.NoError(t, err)
	unavailable(t, db.Commit(t.Context(), event("1")), "another program holds")
	_, err = conn.ExecContext(t.Context(), `ROLLBACK`)
	require.NoError(t, err)
	require.NoError(t, db.Ready(t.Context()))
	require.NoError(t, db.Commit(t.Context(), event("1")))
}

func bigEvent() ledger.Change {
	big := event("big")
	big.Enqueue[0].Input.Text = strings.Repeat("x", 1<<20)
	return big
}

// recovers sees a store through a time in which nothing can be written.
func recovers(t *testing.T, db *store.DB, begin, end func(), reason string) {
	t.Helper()
	require.NoError(t, db.Commit(t.Context(), event("before")))
	begin()
	unavailable(t, db.Commit(t.Context(), bigEvent()), reason)
	unavailable(t, db.Ready(t.Context()), reason)
	_, err := db.Event(t.Context(), "before") // reads go on
	require.NoError(t, err)
	_, err = db.Event(t.Context(), "big")
	require.ErrorIs(t, err, sessions.ErrNotFound)

	end()
	require.NoError(t, db.Ready(t.Context()))
	require.NoError(t, db.Commit(t.Context(), bigEvent()))
	_, err = db.Run(t.Context(), "run_big")
	require.NoError(t, err)
}

func TestSystemErrorsAreExplained(t *testing.T) {
	t.Parallel()
	for cause, reason := range map[syscall.Errno]string{
		syscall.ENOSPC: "the disk is full", syscall.EROFS: "read-only", syscall.EACCES: "no permission",
	} {
		unavailable(t, sqlite.Explain(&os.PathError{Op: "open", Path: "/state", Err: cause}, "/state"), reason)
	}
	require.Equal(t, syscall.EMFILE, sqlite.Explain(syscall.EMFILE, "/state"))
}

func TestUnusableFolder(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := sqlite.Open(t.Context(), config(filepath.Join(file, "state")))
	require.ErrorContains(t, err, "not a directory")
	if os.Getuid() == 0 {
		return // permissions do not bind root
	}
	shut := filepath.Join(t.TempDir(), "shut")
	require.NoError(t, os.Mkdir(shut, 0o500))
	_, err = sqlite.Open(t.Context(), config(filepath.Join(shut, "state")))
	unavailable(t, err, "no permission")
}
