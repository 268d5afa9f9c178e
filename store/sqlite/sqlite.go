// Package sqlite is the embedded database: one file in the state folder, with one writer, whose transactions are
// merged, and several readers.
package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the driver for migrations

	"sluice/internal/hostos"
	"sluice/store"
	"sluice/store/engine"
	"sluice/store/trace"
)

//go:embed migrations/*.sql
var migrations embed.FS

// FileName is the database's name in the state folder.
const FileName = "sluice.db"

// Config configures the database.
type Config struct {
	Dir string       // state folder; created if it is missing
	Log *slog.Logger // nil: no logs
	// Migrated receives what was done to the schema; may be nil.
	Migrated *engine.Migrated
}

// database is SQLite as a [engine.Engine].
type database struct {
	dir   string
	lock  *os.File
	hears trace.Func   // receives each statement; may be nil
	stmts *statements  // of the write connection; used by the one worker
	head  *engine.Head // of the audit trail, as this process has left it; nil: must be read

	readers *readers // nil until the database is open
}

// errClosed means that the database was closed.
var errClosed = errors.New("database is closed")

var _ engine.Engine = (*database)(nil)

// Open opens the database, creates it if it does not exist, and migrates its schema. An error that is an
// *[engine.Unavailable] says what to do.
func Open(ctx context.Context, c Config) (*store.DB, error) {
	e, err := openEngine(ctx, c)
	if err != nil {
		return nil, err
	}
	return store.New(e, c.Log), nil
}

func openEngine(ctx context.Context, c Config) (*database, error) {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, explain(err, c.Dir)
	}
	lock, err := lockFolder(c.Dir)
	if err != nil {
		return nil, err
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	e := &database{dir: c.Dir, lock: lock, hears: trace.Of(ctx)}
	if err := e.open(ctx, c); err != nil {
		return nil, errors.Join(explain(err, c.Dir), e.Close())
	}
	return e, nil
}

func (e *database) open(ctx context.Context, c Config) (err error) {
	path := filepath.Join(e.dir, FileName)
	var done engine.Migrated
	if done.Created, err = create(path); err != nil {
		return fmt.Errorf("create database: %w", err)
	}
	closeToOthers(path, c.Log)
	if e.stmts, err = newStatements(path, e.hears, pragmas()...); err != nil {
		return err
	}
	if !e.stmts.upToDate() {
		if done, err = prepare(ctx, path, c.Log); err != nil {
			return err
		}
	}
	if c.Migrated != nil {
		*c.Migrated = done
	}
	e.readers, err = newReaders(e.reader)
	return err
}

// reader opens a connection for reads.
func (e *database) reader() (*statements, error) {
	return newStatements(filepath.Join(e.dir, FileName), e.hears, append(pragmas(), "query_only=1")...)
}

// upToDate reports whether the schema is certainly the current one. In all other cases [migrate] decides. An
// up-to-date schema is the usual case and needs no second connection.
func (s *statements) upToDate() bool {
	var have engine.Schema
	err := s.query(engine.Applied, nil, func(row engine.Row) error { return row.Scan(&have.Newest, &have.Count) })
	return err == nil && have == known()
}

// migrationFiles are the migrations that are SQL.
func migrationFiles() fs.FS {
	files, _ := fs.Sub(migrations, "migrations") // the path is valid
	return files
}

// known is the schema that the program's migrations make.
func known() engine.Schema {
	known := engine.Schema{Newest: store.SealMigration, Count: 1}
	entries, _ := fs.ReadDir(migrationFiles(), ".") // embedded in the program
	for _, entry := range entries {
		if version, err := goose.NumericComponent(entry.Name()); err == nil {
			known.Newest = max(known.Newest, version)
			known.Count++
		}
	}
	return known
}

// prepare creates the schema or migrates it. It uses database/sql, which the migration library needs. The migrations
// are not synced one by one: after a power failure the database may have only some of them, and the next start
// applies the rest. The first later commit syncs them.
func prepare(ctx context.Context, path string, log *slog.Logger) (engine.Migrated, error) {
	db, err := sql.Open("sqlite", dsn(path, "_txlock=immediate", "synchronous=NORMAL"))
	if err != nil {
		return engine.Migrated{}, fmt.Errorf("open database: %w", err)
	}
	db.SetMaxOpenConns(1)
	done, err := migrate(ctx, db, log)
	return done, errors.Join(err, db.Close())
}

// closeToOthers removes other users' access to the database, which a restored copy may have brought back.
func closeToOthers(path string, log *slog.Logger) {
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			err = os.Chmod(name, info.Mode().Perm()&0o700)
		}
		if err != nil {
			log.Warn("other users may be able to read the database: run chmod 600 on the file", "file", name, "err", err)
		}
	}
}

// pragmas of every connection: synchronous=FULL makes a commit durable when it returns, WAL lets readers continue
// during a write, and the journal shrinks back to 64 MB after a burst. The journal is copied into the database each
// 16 MB: a busy page is then copied once for many commits.
func pragmas() []string {
	return []string{
		"journal_mode=WAL", "synchronous=FULL", "foreign_keys=0", "journal_size_limit=67108864", "wal_autocheckpoint=4000", "cache_size=-8000", "temp_store=2",
	}
}

func escaped(path string) string { return (&url.URL{Path: path}).EscapedPath() }

func dsn(path string, more string, last ...string) string {
	text := "file:" + escaped(path) + "?_pragma=busy_timeout(" + strconv.FormatInt(busyFor.Milliseconds(), 10) + ")"
	for _, pragma := range append(pragmas(), last...) {
		name, value, _ := strings.Cut(pragma, "=")
		text += "&_pragma=" + name + "(" + value + ")"
	}
	return text + "&" + more
}

// migrate brings the schema up to date.
func migrate(ctx context.Context, db *sql.DB, log *slog.Logger) (none engine.Migrated, err error) {
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, migrationFiles(), goose.WithGoMigrations(sealAudit()), goose.WithAllowOutofOrder(true))
	if err != nil {
		return none, fmt.Errorf("read migrations: %w", err)
	}
	var have engine.Schema
	err = db.QueryRowContext(ctx, engine.Applied).Scan(&have.Newest, &have.Count)
	switch known := known(); {
	case err == nil && have == known:
		return none, nil
	case err == nil && have.Newest > known.Newest:
		var since int64
		if err := db.QueryRowContext(ctx, engine.CompatibleSince).Scan(&since); err != nil {
			return none, fmt.Errorf("read which programs the schema fits: %w", err)
		}
		return none, engine.Fits(have, known, since, log)
	}
	return engine.Migrate(ctx, provider, log)
}

func sealAudit() *goose.Migration {
	return goose.NewGoMigration(store.SealMigration, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
		return store.SealAudit(ctx, tx, func(text string) string { return text }, time.Now())
	}}, nil)
}

// Workers is one: SQLite has one writer.
func (e *database) Workers() int { return 1 }

// Alone implements [engine.Engine]: the lock of the folder excludes other gateways.
func (e *database) Alone() bool { return true }

// Close implements [engine.Engine]. It waits for reads in progress.
func (e *database) Close() error {
	var errs []error
	if e.readers != nil {
		errs = append(errs, e.readers.close())
	}
	if e.stmts != nil {
		errs = append(errs, e.stmts.close())
	}
	return errors.Join(append(errs, hostos.Release(e.lock))...)
}
