package app

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"sluice/internal/config"
	"sluice/internal/config/scalar"
	"sluice/internal/freeport"
	"sluice/policy/flow"
	"sluice/store/storetest"
)

// said is a log that many write to.
type said struct {
	mu      sync.Mutex
	text    bytes.Buffer
	written chan struct{} // closed and replaced with each line
}

func newSaid() *said { return &said{written: make(chan struct{})} }

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.written)
	s.written = make(chan struct{})
	return s.text.Write(p)
}

// await waits until the log says something.
func (s *said) await(t *testing.T, word string) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		s.mu.Lock()
		found, written := bytes.Contains(s.text.Bytes(), []byte(word)), s.written
		s.mu.Unlock()
		if found {
			return
		}
		select {
		case <-written:
		case <-deadline:
			t.Fatalf("the log does not say %q", word)
		}
	}
}

func (s *said) count(word string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Count(s.text.Bytes(), []byte(word))
}

func freeAddr(t *testing.T) string {
	t.Helper()
	addr, err := freeport.Addr()
	require.NoError(t, err)
	return addr
}

// starter is a gateway that is being started.
type starter struct {
	*App
	t    *testing.T
	log  *said
	addr string
	done chan error
	end  context.CancelFunc
}

func startWaiting(t *testing.T, change func(*config.Config)) *starter {
	t.Helper()
	cfg, err := config.System().Load("")
	require.NoError(t, err)
	cfg.State, cfg.Gateway.Token, cfg.Gateway.Listen = t.TempDir(), "token-of-the-test", freeAddr(t)
	change(cfg)
	s := &starter{t: t, addr: cfg.Gateway.Listen, log: newSaid(), done: make(chan error, 1)}
	s.App = New(cfg, "test", slog.New(slog.NewTextHandler(s.log, nil)))
	ctx, cancel := context.WithCancel(t.Context())
	s.end = cancel
	go func() { s.done <- s.Start(ctx) }()
	t.Cleanup(func() { cancel(); s.Stop(context.Background()) })
	return s
}

func (s *starter) get(path, token string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+s.addr+path, nil)
	require.NoError(s.t, err)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(s.t, err)
	defer resp.Body.Close() //nolint:errcheck // only read from
	body, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	return resp.StatusCode, string(body)
}

// A start without its database waits, says why, and continues when the database is there.
func TestStartWaitsForTheDatabase(t *testing.T) {
	t.Parallel()
	database := storetest.NewServer(t)
	dsn := database.Database(t)
	database.Kill(t)
	s := startWaiting(t, func(c *config.Config) { c.Store.URL = config.Secret(dsn) })
	s.log.await(t, "the start waits")
	status, body := s.get("/readyz", "token-of-the-test")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, "can't be reached")
	status, body = s.get("/readyz", "")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.NotContains(t, body, "reached", "strangers learn no details")
	status, body = s.get("/v1/status", "token-of-the-test")
	require.Equal(t, http.StatusOK, status)
	var told struct {
		Ready bool `json:"ready"`
		Parts []struct{ Name, Detail string }
	}
	require.NoError(t, json.Unmarshal([]byte(body), &told))
	require.False(t, told.Ready)
	require.NotEmpty(t, told.Parts)
	require.Equal(t, "store", told.Parts[len(told.Parts)-1].Name)
	status, _ = s.get("/healthz", "")
	require.Equal(t, http.StatusOK, status)
	status, body = s.get("/v1/sessions", "token-of-the-test")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, "store: open store: ")
	database.Start(t)
	require.NoError(t, <-s.done)
	status, _ = s.get("/readyz", "")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, 1, s.log.count("the start waits"))
	require.Equal(t, 1, s.log.count("start continues"))
}

// A token with a limit still reads the state and the metrics of a gateway whose database is away.
func TestALimitedTokenSeesAnOutage(t *testing.T) {
	t.Parallel()
	const bot = "the-token-of-the-monitoring"
	database := storetest.NewServer(t)
	s := startWaiting(t, func(c *config.Config) {
		c.Store.URL = config.Secret(database.Database(t))
		c.Limits.PerToken = scalar.Rate{Amount: 3, Per: time.Hour}
		c.Gateway.Tokens = []config.APIToken{{Name: "monitoring", Token: bot, Role: "viewer", Classification: flow.Restricted}}
	})
	require.NoError(t, <-s.done)
	database.Kill(t)
	for _, path := range []string{"/metrics", "/v1/status"} {
		status, body := s.get(path, bot)
		require.Equal(t, http.StatusOK, status, body)
	}
	database.Start(t)
}

// A database whose clock can't be read at the moment is no reason to give up the start.
func TestStartWaitsForTheClockOfTheDatabase(t *testing.T) {
	t.Parallel()
	dsn := storetest.Postgres(t)
	admin, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, admin.Close(context.Background())) })
	_, err = admin.Exec(t.Context(), `CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql AS $$
		BEGIN RAISE EXCEPTION 'canceling statement due to statement timeout' USING ERRCODE = 'query_canceled'; END $$`)
	require.NoError(t, err)
	slow, err := url.Parse(dsn)
	require.NoError(t, err)
	options := slow.Query()
	options.Set("search_path", "public,pg_catalog")
	slow.RawQuery = options.Encode()
	s := startWaiting(t, func(c *config.Config) { c.Store.URL = config.Secret(slow.String()) })
	s.log.await(t, "the start waits")
	_, err = admin.Exec(t.Context(), `DROP FUNCTION public.clock_timestamp()`)
	require.NoError(t, err)
	require.NoError(t, <-s.done)
}

// SIGTERM ends a start that waits at once, for the database and for the bus.
func TestStartThatWaitsCanBeEnded(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*config.Config){
		"store": func(c *config.Config) { c.Store.URL = config.Secret("postgres://sluice@127.0.0.1:1/x") },
		"bus":   func(c *config.Config) { c.Bus.URL = config.Secret("nats://127.0.0.1:1") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startWaiting(t, change)
			s.log.await(t, "the start waits")
			began := time.Now()
			s.end()
			require.Error(t, <-s.done)
			require.Less(t, time.Since(began), 5*time.Second)
		})
	}
}

// A NATS cluster that is up but has too few nodes to decide anything keeps no leases. The start waits for it and says why.
func TestStartWaitsForTheQuorumOfTheBus(t *testing.T) {
	t.Parallel()
	alone, err := server.NewServer(&server.Options{
		ServerName: "alone", Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
		Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: server.RANDOM_PORT},
		Routes:  []*url.URL{{Scheme: "nats-route", Host: "127.0.0.1:1"}, {Scheme: "nats-route", Host: "127.0.0.1:2"}},
	})
	require.NoError(t, err)
	alone.Start()
	t.Cleanup(func() { alone.Shutdown(); alone.WaitForShutdown() })
	require.True(t, alone.ReadyForConnections(30*time.Second))
	address := strings.Replace(alone.ClientURL(), "nats://", "nats://sluice:PASSWORD@", 1)
	s := startWaiting(t, func(c *config.Config) { c.Bus.URL = config.Secret(address) })
	s.log.await(t, "the start waits")
	for _, path := range []string{"/readyz", "/v1/status", "/v1/sessions"} {
		_, body := s.get(path, "token-of-the-test")
		require.Contains(t, body, "bus", path)
		require.Contains(t, body, "no quorum", path)
		require.NotContains(t, body, "PASSWORD", path)
	}
	require.Zero(t, s.log.count("PASSWORD"))
	s.end()
	require.Error(t, <-s.done)
}
