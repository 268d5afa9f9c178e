package postgres_test

import (
	"log/slog"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/engine"
	"sluice/store/postgres"
	"sluice/store/storetest"
)

func config(url string) postgres.Config {
	return postgres.Config{URL: url, Log: slog.New(slog.DiscardHandler)}
}

// unavailable checks that an error says what is wrong and what to do.
func unavailable(t *testing.T, err error, reason string) {
	t.Helper()
	var u *engine.Unavailable
	require.ErrorAs(t, err, &u)
	require.Contains(t, u.Reason, reason)
	require.NotEmpty(t, u.Fix)
}

func event(key string) ledger.Change { return ledger.Change{Event: &ledger.Event{Key: key}} }

// execute alters a database behind the gateway's back.
func execute(t *testing.T, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(t.Context()) //nolint:errcheck // what it did was checked
	_, err = conn.Exec(t.Context(), sql)
	require.NoError(t, err)
}

func TestServerStopsAndStarts(t *testing.T) {
	t.Parallel()
	server := storetest.NewServer(t)
	db := open(t, server.Database(t))
	require.NoError(t, db.Commit(t.Context(), event("before")))

	server.Stop(t)
	unavailable(t, db.Commit(t.Context(), event("during")), "can't be reached")
	_, err := db.Event(t.Context(), "before")
	unavailable(t, err, "can't be reached")
	unavailable(t, db.Ready(t.Context()), "can't be reached")

	server.Start(t)
	require.NoError(t, db.Ready(t.Context()))
	require.NoError(t, db.Commit(t.Context(), event("after")))
	for key, want := range map[string]error{"before": nil, "during": sessions.ErrNotFound, "after": nil} {
		_, err := db.Event(t.Context(), key)
		require.ErrorIs(t, err, want)
	}
}

// TestRestartIsNotSeen restarts the server while the gateway is at rest: its
// connections are dead, but nobody is told.
func TestRestartIsNotSeen(t *testing.T) {
	t.Parallel()
	server := storetest.NewServer(t)
	db := open(t, server.Database(t))
	require.NoError(t, db.Commit(t.Context(), event("before")))
	server.Stop(t)
	server.Start(t)
	require.NoError(t, db.Commit(t.Context(), event("after")))
	server.Stop(t)
	server.Start(t)
	_, err := db.Event(t.Context(), "after")
	require.NoError(t, err)
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	_, err := postgres.Open(t.Context(), config("postgres://sluice:geheim@127.0.0.1:1/sluice"))
	unavailable(t, err, "can't be reached")
	require.NotContains(t, err.Error(), "geheim")
	_, err = postgres.Open(t.Context(), config("postgres://sluice:geheim@127.0.0.1:port/sluice"))
	require.Error(t, err)
	require.NotContains(t, err.Error(), "geheim")
}

func TestNoDatabase(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(storetest.Postgres(t))
	require.NoError(t, err)
	u.Path = "/nowhere"
	_, err = postgres.Open(t.Context(), config(u.String()))
	unavailable(t, err, "no such database")
}

func TestNewerSchema(t *testing.T) {
	t.Parallel()
	url := migrated.Copy(t)
	open(t, url)
	execute(t, url, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)`)
	open(t, url) // what a newer program has added is not in the way
	execute(t, url, `UPDATE schema_compatible SET since = 9000`)
	_, err := postgres.Open(t.Context(), config(url))
	unavailable(t, err, "schema has version 9999")
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	url := migrated.Copy(t)
	require.NoError(t, open(t, url).Close())
	execute(t, url, `ALTER ROLE sluice IN DATABASE `+database(t, url)+` SET default_transaction_read_only = on`)
	db := open(t, url)
	unavailable(t, db.Commit(t.Context(), event("1")), "the database is read-only")
	unavailable(t, db.Ready(t.Context()), "the database is read-only")
}

func database(t *testing.T, text string) string {
	t.Helper()
	u, err := url.Parse(text)
	require.NoError(t, err)
	return u.Path[1:]
}

// TestOpenTogether starts several gateways at once on an empty database: one migrates it.
func TestOpenTogether(t *testing.T) {
	t.Parallel()
	const gateways = 4
	url := storetest.Postgres(t)
	results := make(chan error, gateways)
	for range gateways {
		go func() {
			db, err := postgres.Open(t.Context(), config(url))
			if err == nil {
				err = db.Close()
			}
			results <- err
		}()
	}
	for range gateways {
		require.NoError(t, <-results)
	}
}
