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

// EnvPostgres names the variable for the URL of an existing server. Its user must be allowed to create databases.
const EnvPostgres = "SLUICE_TEST_POSTGRES"

// shared is the server of all tests in this process. Its guard stops it when the process ends.
var shared = sync.OnceValues(func() (*Server, error) { return newServer(programs(), false) }) //nolint:gochecknoglobals // one server a process

// Postgres returns the URL of an empty database on a real server. Without PostgreSQL the test is skipped; in CI it
// fails.
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

// Template is a database that is filled once and then copied for tests: a copy is faster than the migrations.
type Template struct {
	fill func(url string) error
	made func() (string, error) // returns its name on the shared server
}

// NewTemplate creates a template. fill must close what it opens, because PostgreSQL copies only databases without
// connections.
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

// Copy returns the URL of a copy on a real server. On the server of [EnvPostgres] the database is empty, because a
// template would remain there after the tests.
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

// NewServer starts a server for one test, with PostgreSQL's default durability.
func NewServer(t testing.TB) *Server {
	t.Helper()
	needPrograms(t)
	s, err := newServer(programs(), true)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.stop(false)) })
	return s
}

// Database creates an empty database and returns its URL.
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

// Start starts the server again.
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

// creation says how a database is created.
type creation struct {
	template string // the database to copy; empty: PostgreSQL's default
	drop     bool   // drop it when the test ends, because the server outlives the test
}

// create creates a database with a unique name.
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
