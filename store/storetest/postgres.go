package storetest

import (
	"context"
	"crypto/rand"
	"errors"
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
		return create(t, given, creation{drop: true})
	}
	needPrograms(t)
	server, err := shared()
	require.NoError(t, err)
	return create(t, server.url("postgres"), creation{})
}

// Template is a database that is filled once, and of which tests then get copies: a copy takes less than the migrations.
type Template struct {
	fill func(url string) error
	made func() (string, error) // its name on the shared server
}

// NewTemplate makes a template. What fill opens it closes again, because PostgreSQL copies only databases that nobody uses.
func NewTemplate(fill func(url string) error) *Template {
	p := &Template{fill: fill}
	p.made = sync.OnceValues(p.make)
	return p
}

func (p *Template) make() (string, error) {
	server, err := shared()
	if err != nil {
		return "", err
	}
	const name = "template_of_tests"
	if err := execute(server.url("postgres"), "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	return name, p.fill(server.url(name))
}

// Copy gives the URL of a copy on a real server. On the server of [EnvPostgres] it is an empty database, because a template
// would stay there when the tests have ended.
func (p *Template) Copy(t testing.TB) string {
	t.Helper()
	if os.Getenv(EnvPostgres) != "" {
		return Postgres(t)
	}
	needPrograms(t)
	name, err := p.made()
	require.NoError(t, err)
	server, err := shared()
	require.NoError(t, err)
	return create(t, server.url("postgres"), creation{template: name})
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
	return create(t, s.url("postgres"), creation{})
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

// creation says how a database is made.
type creation struct {
	template string // what it is a copy of; empty: PostgreSQL's own
	drop     bool   // at the end of the test, on a server that outlives it
}

// create makes a database with a name of its own.
func create(t testing.TB, admin string, c creation) string {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text())
	statement := "CREATE DATABASE " + name
	if c.template != "" {
		statement += " TEMPLATE " + c.template
	}
	require.NoError(t, execute(admin, statement))
	if c.drop {
		t.Cleanup(func() { require.NoError(t, execute(admin, "DROP DATABASE "+name+" WITH (FORCE)")) })
	}
	u, err := url.Parse(admin)
	require.NoError(t, err)
	u.Path = "/" + name
	return u.String()
}

func execute(admin, sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, admin)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}
