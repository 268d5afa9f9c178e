package storetest

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// Standby starts a copy of the server that follows it by streaming replication. From then on, a commit returns when both
// servers have it.
func (s *Server) Standby(t testing.TB) *Server {
	t.Helper()
	standby, err := newFolder(s.bin)
	require.NoError(t, err)
	said, err := standby.command("pg_basebackup", "-h", s.dir, "-U", "sluice", "-D", filepath.Join(standby.dir, "data"), "-R", "-X", "stream", "-c", "fast").CombinedOutput()
	require.NoError(t, err, string(said))
	require.NoError(t, standby.start())
	t.Cleanup(func() { require.NoError(t, standby.stop(false)) })

	conn, err := pgx.Connect(t.Context(), s.url("postgres"))
	require.NoError(t, err)
	defer conn.Close(t.Context()) //nolint:errcheck // what it did was checked
	for _, statement := range []string{`ALTER SYSTEM SET synchronous_standby_names = '*'`, `SELECT pg_reload_conf()`} {
		_, err := conn.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	following := false
	for deadline := time.Now().Add(time.Minute); !following; {
		require.True(t, time.Now().Before(deadline), "the standby does not follow")
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT pg_sleep(0.02) IS NOT NULL AND count(*) > 0 FROM pg_stat_replication WHERE sync_state = 'sync'`).Scan(&following))
	}
	return standby
}

// Promote makes the standby the server, after the server has died.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	said, err := s.command("pg_ctl", "promote", "-s", "-w", "-D", filepath.Join(s.dir, "data")).CombinedOutput()
	require.NoError(t, err, string(said))
}

// Either returns the URL of a database for clients that use whichever of the two servers accepts writes.
func (s *Server) Either(database string, standby *Server) string {
	config, err := pgx.ParseConfig(database)
	if err != nil {
		return database // the client reports it
	}
	return s.url(config.Database) + "," + standby.dir + "&target_session_attrs=read-write"
}
