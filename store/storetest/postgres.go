package storetest

import (
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// EnvPostgres names the variable that may hold the URL of a server to use
// instead of an own one. Its user must be allowed to make databases.
const EnvPostgres = "SLUICE_TEST_POSTGRES"

// shared is the server of all tests of this process. Its guard stops it when the process ends.
var shared = sync.OnceValues(func() (*Server, error) { return newServer(programs(), false) }) //nolint:gochecknoglobals // one server a process

// Postgres gives the URL of an empty database on a real server. Where there is
// none the test is skipped; in CI it fails.
func Postgres(t testing.TB) string {
	t.Helper()
	if given := os.Getenv(EnvPostgres); given != "" {
		return create(t, given, true)
	}
	needPrograms(t)
	server, err := shared()
	require.NoError(t, err)
	return create(t, server.url("postgres"), false)
}

// NewServer starts a server that only this test uses, with the durability that PostgreSQL has by default.
func NewServer(t testing.TB) *Server {
	t.Helper()
	needPrograms(t)
	s, err := newServer(programs(), true)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.stop(false)) })
	return s
}

// Database makes an empty database and gives its URL.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	return create(t, s.url("postgres"), false)
}

// Stop ends the server at once, as a crash would.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	require.NoError(t, s.stop(true))
}

// Kill ends the server with SIGKILL: all of its processes at once.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	require.NoError(t, s.kill())
}

// Start starts it again.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	require.NoError(t, s.start())
}

func needPrograms(t testing.TB) {
	t.Helper()
	if programs() != "" {
		return
	}
	const missing = "PostgreSQL is not installed; install it or set " + EnvPostgres
	if os.Getenv("CI") == "true" {
		t.Fatal(missing)
	}
	t.Skip(missing)
}

// create makes a database with a name of its own and, on a server that outlives the test, drops it at the end.
func create(t testing.TB, admin string, drop bool) string {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text())
	execute(t, admin, "CREATE DATABASE "+name)
	if drop {
		t.Cleanup(func() { execute(t, admin, "DROP DATABASE "+name+" WITH (FORCE)") })
	}
	u, err := url.Parse(admin)
	require.NoError(t, err)
	u.Path = "/" + name
	return u.String()
}

func execute(t testing.TB, admin, sql string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, admin)
	require.NoError(t, err)
	defer conn.Close(ctx) //nolint:errcheck // what it did was checked
	_, err = conn.Exec(ctx, sql)
	require.NoError(t, err)
}
