package postgres_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/store"
	"sluice/store/engine"
	"sluice/store/postgres"
	"sluice/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// migrated is a database without rows whose schema is up to date.
var migrated = storetest.NewTemplate(func(url string) error { //nolint:gochecknoglobals // one for all tests of the process
	db, err := postgres.Open(context.Background(), postgres.Config{URL: url})
	if err != nil {
		return err
	}
	return db.Close()
})

func open(t testing.TB, url string) *store.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgres.Config{URL: url, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) *store.DB { return open(t, migrated.Copy(t)) })
}

// A program that only reads a database does not migrate it.
func TestAsItIs(t *testing.T) {
	t.Parallel()
	url := migrated.Copy(t)
	asIs := func() error {
		db, err := postgres.Open(t.Context(), postgres.Config{URL: url, AsIs: true})
		if err != nil {
			return err
		}
		return db.Close()
	}
	require.NoError(t, asIs())

	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) }()
	applied := func() (n int) {
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM goose_db_version`).Scan(&n))
		return n
	}
	_, err = conn.Exec(t.Context(), `DELETE FROM goose_db_version WHERE version_id = (SELECT max(version_id) FROM goose_db_version)`)
	require.NoError(t, err)
	before := applied()
	require.ErrorContains(t, asIs(), "run sluice migrate")
	require.Equal(t, before, applied())
}

// A migration with a number below the newest is applied too, and is named.
func TestMigrationsAreNamed(t *testing.T) {
	t.Parallel()
	url := migrated.Copy(t)
	execute(t, url, `DELETE FROM goose_db_version WHERE version_id = 441`)
	execute(t, url, `DROP INDEX nodes_pending`)
	var done engine.Migrated
	db, err := postgres.Open(t.Context(), postgres.Config{URL: url, Migrated: &done})
	require.NoError(t, err)
	require.NoError(t, db.Close())
	require.False(t, done.Created)
	require.Equal(t, []string{"00441_nodes_pending.sql"}, done.Applied)
	require.Positive(t, done.Took)
}

// Gateways find out whether they share a database.
func TestIdentity(t *testing.T) {
	t.Parallel()
	url := migrated.Copy(t)
	one, err := open(t, url).Identity(t.Context())
	require.NoError(t, err)
	same, err := open(t, url).Identity(t.Context())
	require.NoError(t, err)
	require.Equal(t, one, same)
	other, err := open(t, migrated.Copy(t)).Identity(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, one, other)
}

// All gateways read one clock.
func TestClock(t *testing.T) {
	t.Parallel()
	db := open(t, migrated.Copy(t))
	before := time.Now()
	at, err := db.Clock(t.Context())
	require.NoError(t, err)
	require.WithinRange(t, at, before.Add(-time.Second), time.Now().Add(time.Second), "the database of the tests is on this machine")
	again, err := db.Clock(t.Context())
	require.NoError(t, err)
	require.True(t, again.After(at), "to the microsecond")
}
