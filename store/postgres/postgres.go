// Package postgres is the database that several gateways share. Waiting transactions are merged and sent as one
// pipeline.
package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"sluice/internal/hostos"
	"sluice/store"
	"sluice/store/engine"
	"sluice/store/trace"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	writers        = 4                // concurrent transactions
	connections    = 12               // per gateway, unless the URL's pool_max_conns says otherwise
	connectTimeout = 5 * time.Second  // unless the URL's connect_timeout says otherwise
	idleLong       = time.Minute      // after which a connection is asked if it is still there
	readTimeout    = 30 * time.Second // for one read, even if its caller allows more
)

// Config configures the database.
type Config struct {
	URL string       // postgres://user:password@host:port/database; an empty database is enough
	Log *slog.Logger // nil: no logs
	// AsIs leaves the schema as it is: a database with an older schema than this program's is not opened.
	AsIs bool
	// Migrated receives what was done to the schema; may be nil.
	Migrated *engine.Migrated
}

// database is PostgreSQL as a [engine.Engine].
type database struct {
	pool   *pgxpool.Pool
	sql    rebound
	briefs *briefs
}

var _ engine.Engine = (*database)(nil)

// Open connects to the database and migrates its schema; if several gateways start together, one of them does it. An
// error that is an *[engine.Unavailable] says what to do.
func Open(ctx context.Context, c Config) (*store.DB, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if err := readable(c.URL); err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(c.URL)
	if err != nil {
		return nil, fmt.Errorf("read database URL: %w", err) // pgx removes the password
	}
	if !strings.Contains(c.URL, "pool_max_conns") {
		config.MaxConns = connections
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "sluice"
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	config.AfterConnect = prepareConnection
	config.ShouldPing = shouldPing
	if hear := trace.Of(ctx); hear != nil {
		config.ConnConfig.Tracer = tracer{hear}
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, explain(fmt.Errorf("connect: %w", err))
	}
	if err := migrate(ctx, pool, c); err != nil {
		pool.Close()
		return nil, explain(err)
	}
	return store.New(&database{pool: pool, briefs: newBriefs(pool, int(pool.Config().MaxConns), c.Log)}, c.Log), nil
}

// shouldPing reports whether a connection has to be asked if it is still there, which takes a round trip: if the server has said
// something in the meantime, which is usually that it ends, or after a long time, in which the network may have forgotten it.
// Otherwise a commit would fail, which can't be repeated on another connection.
func shouldPing(_ context.Context, c pgxpool.ShouldPingParams) bool {
	arrived, known := hostos.Arrived(c.Conn.PgConn().Conn())
	return arrived || c.IdleDuration > idleLong || !known && c.IdleDuration > time.Second
}

// readable rejects a URL in which pgx would take a part of the password for the host, and print it.
func readable(address string) error {
	rest, found := strings.CutPrefix(address, "postgres://")
	if !found {
		rest, found = strings.CutPrefix(address, "postgresql://")
	}
	if !found {
		return errors.New("read database URL: want postgres://user:password@host/database")
	}
	authority, _, _ := strings.Cut(rest, "?")
	if strings.Count(authority, "@") > 1 {
		return errors.New("read database URL: it has one @ too many; write an @ in a user, password or database as %40")
	}
	return nil
}

// prepareConnection lets the server end transactions of a gateway that has vanished, with their locks. It turns off
// parallel workers and compilation (JIT): starting or compiling takes longer than any read here. PostgreSQL overestimates
// what a page of a long list costs, and compiled the overview's reads for 10–30 ms each.
func prepareConnection(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `SET idle_in_transaction_session_timeout = '60s'; SET max_parallel_workers_per_gather = 0; SET jit = off`)
	return err
}

// migrate brings the schema up to date. In the usual case, where it is, this costs one query.
func migrate(ctx context.Context, pool *pgxpool.Pool, c Config) (err error) {
	db := stdlib.OpenDBFromPool(pool)
	defer func() { err = errors.Join(err, db.Close()) }()
	provider, known, err := newProvider(db)
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	var there, restoring bool
	if err := pool.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL, to_regclass($2) IS NOT NULL`, versionTable, markTable).Scan(&there, &restoring); err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	if restoring {
		return &engine.Unavailable{Reason: "a restore of the database is in progress or was interrupted", Fix: "wait for it, or repeat it with sluice restore", Lasting: true}
	}
	if there {
		have, err := appliedTo(ctx, pool)
		if err != nil || have == known {
			return err
		}
		if have.Newest > known.Newest {
			since, err := compatibleSince(ctx, pool)
			return errors.Join(err, engine.Fits(have, known, since, c.Log))
		}
	}
	if c.AsIs {
		return errors.New("the database has the schema of an older version of sluice: start the gateway with this version, or run sluice migrate")
	}
	done, err := engine.Migrate(ctx, provider, c.Log)
	if c.Migrated != nil {
		*c.Migrated = done
	}
	return err
}

func newProvider(db *sql.DB) (*goose.Provider, engine.Schema, error) {
	source, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, engine.Schema{}, err
	}
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return nil, engine.Schema{}, err
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, source, goose.WithSessionLocker(locker), goose.WithGoMigrations(sealAudit()), goose.WithAllowOutofOrder(true))
	if err != nil {
		return nil, engine.Schema{}, err
	}
	sources := provider.ListSources()
	return provider, engine.Schema{Newest: sources[len(sources)-1].Version, Count: int64(len(sources))}, nil
}

func sealAudit() *goose.Migration {
	return goose.NewGoMigration(store.SealMigration, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
		return store.SealAudit(ctx, tx, rebind, time.Now())
	}}, nil)
}

func appliedTo(ctx context.Context, pool *pgxpool.Pool) (have engine.Schema, err error) {
	err = pool.QueryRow(ctx, engine.Applied).Scan(&have.Newest, &have.Count)
	if err != nil {
		return engine.Schema{}, fmt.Errorf("read schema version: %w", err)
	}
	return have, nil
}

func compatibleSince(ctx context.Context, pool *pgxpool.Pool) (since int64, err error) {
	if err := pool.QueryRow(ctx, engine.CompatibleSince).Scan(&since); err != nil {
		return 0, fmt.Errorf("read which programs the schema fits: %w", err)
	}
	return since, nil
}

// Workers implements [engine.Engine].
func (e *database) Workers() int { return writers }

// Alone implements [engine.Engine]: other gateways may share the database.
func (e *database) Alone() bool { return false }

// Close implements [engine.Engine].
func (e *database) Close() error {
	e.briefs.close()
	e.pool.Close()
	return nil
}
