package mcpserver_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/internal/httpapi/mcpserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve serves an API to clients of MCP.
func serve(t *testing.T, api http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(mcpserver.New(mcpserver.Config{API: api, Ending: t.Context(), MaxBody: 1 << 20, Version: "test", Log: slog.New(slog.DiscardHandler)}))
	t.Cleanup(s.Close)
	return s
}

// use calls the tool session_status, and returns what the client is told.
func use(ctx context.Context, s *httptest.Server) (status int, body string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"session_status","arguments":{"sessionKey":"main"}}}`))
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := s.Client().Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

// A panic of the API ends one call, and its text stays here.
func TestAPanicIsSurvived(t *testing.T) {
	t.Parallel()
	calls := 0
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls++; calls == 1 {
			panic("of a secret")
		}
		_, _ = io.WriteString(w, `{"id":"sess_1"}`)
	})
	_, body, err := use(t.Context(), s)
	require.NoError(t, err)
	require.Contains(t, body, `"error"`)
	require.NotContains(t, body, "of a secret")
	_, body, err = use(t.Context(), s)
	require.NoError(t, err)
	require.Contains(t, body, "sess_1")
}

// A response that is too long is an error that says what to do.
func TestALongResponse(t *testing.T) {
	t.Parallel()
	for size, long := range map[int]bool{2<<20 - 100: false, 2<<20 + 1: true} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"id":"`+strings.Repeat("a", size)+`"}`)
		})
		_, body, err := use(t.Context(), s)
		require.NoError(t, err)
		require.Equal(t, long, strings.Contains(body, "the response has more than 2097152 bytes: ask for less with limit"), size)
		require.Equal(t, !long, strings.Contains(body, "aaaaaaaa"), size)
	}
}

// So many calls at the same time are worked; more are refused until one has ended. A client that goes away ends its call.
func TestManyCalls(t *testing.T) {
	t.Parallel()
	const most = 256
	began, ended := make(chan struct{}, most), make(chan struct{}, most)
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		began <- struct{}{}
		<-r.Context().Done()
		ended <- struct{}{}
	})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	done := make(chan error, most)
	for range most {
		go func() {
			_, _, err := use(ctx, s)
			done <- err
		}()
	}
	for range most {
		<-began
	}
	status, body, err := use(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, "too many MCP requests at the same time; try again in a moment")
	leave()
	for range most {
		<-ended
		require.ErrorIs(t, <-done, context.Canceled)
	}
}
