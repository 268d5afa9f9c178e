package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi"
	"sluice/internal/httpapi/operator"
	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/store/engine"
)

func TestWhoMayCall(t *testing.T) {
	t.Parallel()
	h := serve(t, newGateway())
	for name, c := range map[string]struct {
		method, path string
		headers      []string
		want         int
	}{
		"token":                    {"GET", "/v1/sessions", nil, 200},
		"no token":                 {"GET", "/v1/sessions", []string{"Authorization: "}, 401},
		"wrong token":              {"GET", "/v1/sessions", []string{"Authorization: Bearer x"}, 401},
		"beginning of the token":   {"GET", "/v1/sessions", []string{"Authorization: Bearer a-token"}, 401},
		"no bearer":                {"GET", "/v1/sessions", []string{"Authorization: " + token}, 401},
		"description":              {"GET", "/openapi.json", []string{"Authorization: "}, 401},
		"old description":          {"GET", "/openapi-3.0.yaml", []string{"Authorization: "}, 401},
		"basic auth":               {"GET", "/v1/sessions", []string{"Authorization: Basic " + token}, 401},
		"token in the query":       {"GET", "/v1/sessions?token=" + token, []string{"Authorization: "}, 401},
		"encoded path":             {"GET", "/%761/sessions", []string{"Authorization: "}, 401},
		"unknown endpoint":         {"GET", "/v1/nothing", []string{"Authorization: "}, 401},
		"metrics":                  {"GET", "/metrics", []string{"Authorization: "}, 401},
		"metrics with token":       {"GET", "/metrics", nil, 200},
		"health":                   {"GET", "/healthz", []string{"Authorization: "}, 200},
		"readiness":                {"GET", "/readyz", []string{"Authorization: "}, 200},
		"page":                     {"GET", "/", []string{"Authorization: "}, 200},
		"callback":                 {"POST", "/channels/telegram/default", []string{"Authorization: "}, 202},
		"callback by public name":  {"POST", "/channels/telegram/default", []string{"Authorization: ", "Host: public.example"}, 202},
		"callback of no channel":   {"POST", "/channels/nothing/default", []string{"Authorization: "}, 404},
		"localhost":                {"GET", "/v1/sessions", []string{"Host: localhost:8484"}, 200},
		"IPv6":                     {"GET", "/v1/sessions", []string{"Host: [::1]:8484"}, 200},
		"configured host":          {"GET", "/v1/sessions", []string{"Host: GATEWAY.example"}, 200},
		"rebound name":             {"GET", "/v1/sessions", []string{"Host: evil.example"}, 421},
		"rebound name, page":       {"GET", "/", []string{"Host: evil.example"}, 421},
		"name that begins alike":   {"GET", "/v1/sessions", []string{"Host: localhost.evil.example"}, 421},
		"own origin":               {"GET", "/v1/sessions", []string{"Origin: http://127.0.0.1:8484"}, 200},
		"other origin":             {"POST", "/v1/sessions", []string{"Origin: https://evil.example"}, 403},
		"other port's origin":      {"POST", "/v1/sessions", []string{"Origin: http://127.0.0.1:3000"}, 403},
		"null origin":              {"POST", "/v1/sessions", []string{"Origin: null"}, 403},
		"cross-site fetch":         {"GET", "/v1/sessions", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"}, 403},
		"link from somewhere else": {"GET", "/", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"}, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := call(h, c.method, c.path, "", c.headers...)
			require.Equal(t, c.want, w.Code, w.Body.String())
			require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))
			require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
			require.Equal(t, "no-referrer", w.Header().Get("Referrer-Policy"))
			require.Contains(t, w.Header().Get("Content-Security-Policy"), "frame-ancestors 'none'")
			require.NotContains(t, w.Header().Get("Content-Security-Policy"), "unsafe")
		})
	}
}

// A path that leads out of an open place opens nothing.
func TestNoWayRoundTheToken(t *testing.T) {
	t.Parallel()
	h := serve(t, newGateway())
	for _, path := range []string{"/channels/../v1/sessions", "/channels/%2e%2e/v1/sessions", "//v1/sessions", "/./v1/sessions", "/v1//sessions", "/V1/sessions"} {
		w := call(h, "GET", path, "", "Authorization: ")
		if w.Code == http.StatusOK {
			require.Equal(t, "the page", w.Body.String(), path)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	g := newGateway()
	g.add(sessions.Record{ID: "sess_000000000001", Key: "agent:main:main", Agent: "main"})
	h := serve(t, g)
	const notFound = `{"error":"not_found","message":"not found: it does not exist, or your token may not see it"}`
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		want               string
	}{
		"missing session":    {"GET", "/v1/sessions/sess_000000000009", "", 404, notFound},
		"missing endpoint":   {"GET", "/v1/nothing", "", 404, notFound},
		"missing run":        {"GET", "/v1/runs/run_1", "", 404, notFound},
		"unknown property":   {"POST", "/v1/sessions", `{"persisten":true}`, 422, `"error":"invalid_request","message":"persisten: unexpected property"`},
		"not JSON":           {"POST", "/v1/sessions", `{`, 400, `"error":"invalid_request"`},
		"wrong type":         {"POST", "/v1/sessions", `{"ttl":"long"}`, 422, `"message":"ttl: `},
		"metadata no object": {"POST", "/v1/sessions", `{"metadata":[1]}`, 400, "metadata: want a JSON object"},
		"turn: unknown":      {"POST", "/v1/sessions/main/messages", `{"mesage":"x"}`, 400, "mesage"},
		"turn: empty":        {"POST", "/v1/sessions/main/messages", `{"message":" "}`, 400, "message: is empty: write a text"},
		"turn: two values":   {"POST", "/v1/sessions/main/messages", `{"message":"x"} {}`, 400, "more than one"},
		"turn: too large":    {"POST", "/v1/sessions/main/messages", `{"message":"` + strings.Repeat("x", 1000) + `"}`, 413, `"error":"too_large"`},
		"create: too large":  {"POST", "/v1/sessions", `{"title":"` + strings.Repeat("x", 1000) + `"}`, 413, `"error":"too_large"`},
		"bad event id":       {"GET", "/v1/sessions/main/events?after=x", "", 400, "after: want the id of an event"},
		"empty age":          {"DELETE", "/v1/sessions?status=idle&older_than=", "", 422, "older_than: is empty"},
		"empty status":       {"DELETE", "/v1/sessions?status=&older_than=1h", "", 422, "status: is empty"},
		"bad age":            {"DELETE", "/v1/sessions?older_than=2d", "", 400, "older_than"},
		"no such status":     {"GET", "/v1/deliveries?status=lost", "", 422, `"error":"invalid_request"`},
		"no such run status": {"GET", "/v1/runs?status=lost", "", 422, `"error":"invalid_request"`},
		"misspelt filter":    {"DELETE", "/v1/sessions?status=idle&olderthan=1h", "", 422, `"error":"invalid_request"`},
		"misspelt, JSON":     {"GET", "/v1/runs?stat=done", "", 422, "stat: unknown query parameter"},
		"misspelt, events":   {"GET", "/v1/sessions/main/events?aftr=1", "", 422, "aftr: unknown query parameter"},
		"misspelt, turn":     {"POST", "/v1/sessions/main/messages?id=1", `{"message":"x"}`, 422, "id: unknown query parameter"},
		"no query at all":    {"GET", "/v1/status?x=", "", 422, "x: unknown query parameter"},
		"unreadable filter":  {"DELETE", "/v1/sessions?status=idle&older_than=1h;x", "", 400, "query: it cannot be parsed"},
		"no such account":    {"POST", "/channels/nothing/none", "", 404, notFound},
		"delete everything":  {"DELETE", "/v1/sessions", "", 400, "without a condition nothing is deleted"},
		"panic":              {"GET", "/v1/policy/check?channel=telegram", "", 500, `{"error":"internal","message":"internal error; the gateway's log has the cause"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := call(h, c.method, c.path, c.body)
			require.Equal(t, c.status, w.Code, w.Body.String())
			require.Contains(t, w.Body.String(), c.want)
			var shape map[string]string
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &shape))
			require.Len(t, shape, 2)
		})
	}
}

func TestStoreAway(t *testing.T) {
	t.Parallel()
	g := newGateway()
	g.fail, g.healthy = &engine.Unavailable{Reason: "the disk is full", Fix: "make room"}, false
	h := serve(t, g)
	for _, path := range []string{"/v1/sessions/main", "/v1/sessions/main/history", "/v1/sessions"} {
		w := call(h, "GET", path, "")
		require.Equal(t, http.StatusServiceUnavailable, w.Code)
		require.JSONEq(t, `{"error":"unavailable","message":"the store is not available: the disk is full; make room"}`, w.Body.String())
	}
	w := call(h, "GET", "/readyz", "")
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.JSONEq(t, `{"ready":false,"parts":[{"name":"store","ok":false,"detail":"the disk is full"}]}`, w.Body.String())
}

// Who bears no token learns which kind of part does not work, and nothing of what is wrong with it.
func TestReadinessTellsStrangersNoDetails(t *testing.T) {
	t.Parallel()
	parts := []operator.Health{
		{Name: "store", Detail: "no permission to use /srv/sluice"},
		{Name: "bus", OK: true},
		{Name: "telegram/ops", Kind: "channels", OK: true},
		{Name: "slack/acme", Kind: "channels", Detail: "token revoked"},
		{Name: "discord/high", Kind: "channels", Level: flow.Restricted},
		{Name: "mcp/crm", Kind: "mcp", Optional: true, Detail: "dial 10.0.0.7:80"},
	}
	h := newServer(t, newGateway(), func(c *httpapi.Config) {
		c.Parts = func(context.Context) []operator.Health { return slices.Clone(parts) }
	}).Handler()
	for _, bearer := range []string{"Authorization: ", "Authorization: Bearer guessed"} {
		w := call(h, "GET", "/readyz", "", bearer)
		require.Equal(t, http.StatusServiceUnavailable, w.Code)
		require.JSONEq(t, `{"ready":false,"parts":[{"name":"store","ok":false},{"name":"bus","ok":true},{"name":"channels","ok":false},{"name":"mcp","ok":false,"optional":true}]}`, w.Body.String())
	}
	require.Contains(t, call(h, "GET", "/readyz", "").Body.String(), "/srv/sluice")
}

func TestDirectoryIsLookedUp(t *testing.T) {
	t.Parallel()
	h := serve(t, newGateway())
	found := call(h, http.MethodGet, "/v1/directory?channel=slack&to=%23ops", "")
	require.Equal(t, http.StatusOK, found.Code, found.Body)
	require.JSONEq(t, `{"route":{"channel":"slack","account":"default","chatType":"group","conversation":"C1","title":"ops"},"members":[{"id":"U1","name":"Ada"}]}`, found.Body.String())
	require.Equal(t, http.StatusBadRequest, call(h, http.MethodGet, "/v1/directory?channel=slack&to=%23none", "").Code)
}

func TestABodyMustSayThatItIsJSON(t *testing.T) {
	t.Parallel()
	w := call(serve(t, newGateway()), "POST", "/v1/sessions", "{}", "Content-Type: application/x-www-form-urlencoded")
	require.Equal(t, http.StatusUnsupportedMediaType, w.Code)
	require.Contains(t, w.Body.String(), "Content-Type: application/json")
}

// Routes that do not say otherwise need a token, those that do not exist, too; the page's files need none.
func TestRoutesWithoutToken(t *testing.T) {
	t.Parallel()
	h := serve(t, newGateway())
	for request, open := range map[string]bool{
		"GET /": true, "HEAD /app.js": true, "GET /nothing": true, "GET /healthz": true, "HEAD /healthz": true, "GET /readyz": true,
		"POST /channels/slack/default": true, "POST /hooks/github": true, "GET /hooks/github": true, "POST /v1/nodes/pair": true,
		"GET /.well-known/agent-card.json": true, "GET /a2a/main/.well-known/agent-card.json": true,
		"POST /": false, "DELETE /app.js": false, "POST /nothing": false, "PUT /healthz": false, "GET /channels": true, "DELETE /channels/slack/default": false,
		"POST /a2a/main": false, "GET /a2a/main": false, "POST /a2a/main/.well-known/agent-card.json": false, "POST /mcp": false, "GET /mcp": false,
		"GET /v1/status": false, "GET /v1/": false, "GET /v1/nothing": false, "GET /v1/nodes": false, "GET /metrics": false, "GET /openapi.json": false, "GET /openapi.yaml": false,
		"POST /notify/main": false, "GET /api/v2/status": false, "POST /v2/nothing": false, "GET //v1/status": false, "GET /x/../v1/status": false,
	} {
		method, path, _ := strings.Cut(request, " ")
		require.Equal(t, open, call(h, method, path, "", "Authorization: ").Header().Get("WWW-Authenticate") == "", request)
	}
}
