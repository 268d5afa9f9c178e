package sqlite

import (
	"database/sql"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"sluice/store/engine"
)

// The usual look at the schema finds it up to date after a first start, and only then.
func TestSchemaIsLookedAtWithoutMigrations(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e, err := openEngine(t.Context(), Config{Dir: dir})
	require.NoError(t, err)
	require.True(t, e.stmts.upToDate())
	var level int64
	require.NoError(t, e.stmts.query(`PRAGMA synchronous`, nil, func(row engine.Row) error { return row.Scan(&level) }))
	require.EqualValues(t, 2, level, "each commit is synced")

	_, err = e.stmts.exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (?, 1)`, []any{known().Newest + 1})
	require.NoError(t, err)
	require.False(t, e.stmts.upToDate(), "another program's")
	require.NoError(t, e.Close())
}

// A start that ended early, or a database file that was removed, leaves files that belong to no database.
func TestCreateWithLeftovers(t *testing.T) {
	t.Parallel()
	other := t.TempDir()
	e, err := openEngine(t.Context(), Config{Dir: other})
	require.NoError(t, err)
	_, err = e.stmts.exec(`INSERT INTO partitions (owner, id, epoch) VALUES ('other', 1, 1)`, nil)
	require.NoError(t, err)
	journal, err := os.ReadFile(filepath.Join(other, FileName+"-wal"))
	require.NoError(t, err)
	require.NotEmpty(t, journal)
	require.NoError(t, e.Close())

	dir := t.TempDir()
	for name, content := range map[string][]byte{FileName: nil, FileName + "-new": []byte("half a file"), FileName + "-wal": journal, FileName + "-new-wal": journal} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	var done engine.Migrated
	e, err = openEngine(t.Context(), Config{Dir: dir, Migrated: &done})
	require.NoError(t, err)
	require.True(t, done.Created)
	require.True(t, e.stmts.upToDate())
	var rows int64
	require.NoError(t, e.stmts.query(`SELECT count(*) FROM partitions`, nil, func(row engine.Row) error { return row.Scan(&rows) }))
	require.Zero(t, rows, "those of the journal are of another database")
	require.NoError(t, e.Close())
	require.NoFileExists(t, filepath.Join(dir, FileName+"-new"))
}

// A journal from before the database had a write-ahead log would be played into the new database.
func TestCreateWithAnOldJournal(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), FileName)
	journal := make([]byte, 512)
	copy(journal, "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7") // of a database without pages
	binary.BigEndian.PutUint32(journal[20:], 512)
	binary.BigEndian.PutUint32(journal[24:], 4096)
	require.NoError(t, os.WriteFile(path+"-journal", journal, 0o600))
	created, err := create(path)
	require.NoError(t, err)
	require.True(t, created)
	s, err := newStatements(path, nil, pragmas()...)
	require.NoError(t, err)
	require.True(t, s.upToDate())
	require.NoError(t, s.close())
}

// A link to a place for the database stays.
func TestCreateBehindALink(t *testing.T) {
	t.Parallel()
	dir, target := t.TempDir(), filepath.Join(t.TempDir(), "elsewhere.db")
	require.NoError(t, os.Symlink(target, filepath.Join(dir, FileName)))
	var done engine.Migrated
	e, err := openEngine(t.Context(), Config{Dir: dir, Migrated: &done})
	require.NoError(t, err)
	require.True(t, done.Created)
	require.True(t, e.stmts.upToDate())
	require.NoError(t, e.Close())
	info, err := os.Stat(target)
	require.NoError(t, err)
	require.NotZero(t, info.Size())
}

// A migration that was written beside others gets its turn, although later ones have been applied.
func TestMigrationBeforeTheNewest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var done engine.Migrated
	e, err := openEngine(t.Context(), Config{Dir: dir, Migrated: &done})
	require.NoError(t, err)
	require.Equal(t, engine.Migrated{Created: true}, done)
	_, err = e.stmts.exec(`DELETE FROM goose_db_version WHERE version_id = 441`, nil)
	require.NoError(t, err)
	_, err = e.stmts.exec(`DROP INDEX nodes_pending`, nil)
	require.NoError(t, err)
	require.False(t, e.stmts.upToDate())
	require.NoError(t, e.Close())
	e, err = openEngine(t.Context(), Config{Dir: dir, Migrated: &done})
	require.NoError(t, err)
	require.False(t, done.Created)
	require.Equal(t, []string{"00441_nodes_pending.sql"}, done.Applied)
	require.Positive(t, done.Took)
	require.True(t, e.stmts.upToDate())
	require.NoError(t, e.Close())
}

func TestNewestMigrationIsTheLastThatIsApplied(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", ":memory:")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, migrationFiles(), goose.WithGoMigrations(sealAudit()))
	require.NoError(t, err)
	sources := provider.ListSources()
	require.Equal(t, engine.Schema{Newest: sources[len(sources)-1].Version, Count: int64(len(sources))}, known())
}
