package httpapi_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/internal/httpapi"
	"sluice/router"
	"sluice/sessions"
)

const token = "a-token-for-tests"

// emptyRouter knows no session; what it does not override is not called by these tests.
type emptyRouter struct{ httpapi.Router }

func (emptyRouter) ResolveSession(context.Context, string) (sessions.Record, error) {
	return sessions.Record{}, sessions.ErrNotFound
}

// emptyStore has no rows.
type emptyStore struct{ httpapi.Store }

func (emptyStore) ListSessions(context.Context, router.SessionQuery) ([]sessions.Record, error) {
	return nil, nil
}

func (emptyStore) Busy(context.Context, []sessions.ID) (map[sessions.ID]bool, error) {
	return map[sessions.ID]bool{}, nil
}

func newHandler() http.Handler {
	nothing := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	return httpapi.New(httpapi.Config{
		Router: emptyRouter{}, Store: emptyStore{}, Page: nothing, Metrics: nothing, Token: token,
		Hosts: []string{"sluice.example"}, MaxBody: 1 << 10, Version: "test", Now: time.Now,
		Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
		Parts:    func(context.Context) []httpapi.Health { return []httpapi.Health{{Name: "store", Detail: "away"}} },
		Callback: func(string, string) (adapters.Callback, bool) { return nil, false },
	}).Handler()
}

func call(method, target, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host = "127.0.0.1:8484"
	r.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
			continue
		}
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	newHandler().ServeHTTP(w, r)
	return w
}

func TestGuard(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path   string
		header []string
		want   int
	}{
		"token":               {"/v1/sessions", nil, 200},
		"wrong token":         {"/v1/sessions", []string{"Authorization", "Bearer no"}, 401},
		"no bearer":           {"/v1/sessions", []string{"Authorization", token}, 401},
		"metrics want it":     {"/metrics", []string{"Authorization", ""}, 401},
		"health is open":      {"/healthz", []string{"Authorization", ""}, 200},
		"readiness is open":   {"/readyz", []string{"Authorization", ""}, 503},
		"configured host":     {"/v1/sessions", []string{"Host", "sluice.example"}, 200},
		"IPv6 host":           {"/v1/sessions", []string{"Host", "[::1]:8484"}, 200},
		"rebound name":        {"/v1/sessions", []string{"Host", "evil.example"}, 421},
		"own origin":          {"/v1/sessions", []string{"Origin", "http://127.0.0.1:8484"}, 200},
		"foreign origin":      {"/v1/sessions", []string{"Origin", "http://evil.example"}, 403},
		"other port's origin": {"/v1/sessions", []string{"Origin", "http://127.0.0.1:9"}, 403},
		"null origin":         {"/v1/sessions", []string{"Origin", "null"}, 403},
		"another site":        {"/v1/sessions", []string{"Sec-Fetch-Site", "cross-site"}, 403},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := call("GET", c.path, "", c.header...)
			require.Equal(t, c.want, w.Code, w.Body)
			require.Contains(t, w.Header().Get("Content-Security-Policy"), "frame-ancestors 'none'")
			require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))
		})
	}
}

func TestErrorShape(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method, path, body string
		want               int
		code               string
	}{
		"missing session":     {"GET", "/v1/sessions/sess_000000000000", "", 404, "not_found"},
		"missing route":       {"GET", "/v1/nothing", "", 404, "not_found"},
		"missing account":     {"POST", "/channels/telegram/none", "", 404, "not_found"},
		"unknown property":    {"POST", "/v1/sessions", `{"nope":1}`, 422, "invalid_request"},
		"bulk without filter": {"DELETE", "/v1/sessions", "", 400, "invalid_request"},
		"bulk with days":      {"DELETE", "/v1/sessions?older_than=1d", "", 400, "invalid_request"},
		"misspelt filter":     {"DELETE", "/v1/sessions?status=idle&olderthan=1h", "", 422, "invalid_request"},
		"empty message":       {"POST", "/v1/sessions/x/messages", `{"message":" "}`, 400, "invalid_request"},
		"too long":            {"POST", "/v1/sessions/x/messages", `{"message":"` + strings.Repeat("a", 2<<10) + `"}`, 413, "too_large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := call(c.method, c.path, c.body, "Content-Type", "application/json")
			require.Equal(t, c.want, w.Code, w.Body)
			var got map[string]any
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
			require.Equal(t, c.code, got["error"])
			require.NotEmpty(t, got["message"])
			require.Len(t, got, 2)
		})
	}
}

func TestListIsABareArray(t *testing.T) {
	t.Parallel()
	require.Equal(t, "[]\n", call("GET", "/v1/sessions", "").Body.String())
}
