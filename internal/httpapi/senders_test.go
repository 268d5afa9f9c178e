package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi"
	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/senders"
	"sluice/policy/flow"
	"sluice/router/outbound"
	"sluice/router/request"
	"sluice/sessions"
)

// serveSenders makes a server with a target and a token of each role.
func serveSenders(t *testing.T, g *gateway, settings ...func(*httpapi.Config)) http.Handler {
	t.Helper()
	return newServer(t, g, append(settings, func(c *httpapi.Config) {
		c.Targets = func(name string) (senders.Target, bool) {
			return senders.Target{Channel: "telegram", Account: "work", To: "1001", Thread: "7"}, name == "ops"
		}
		c.Access.Tokens = append(c.Access.Tokens,
			auth.Credential{Name: "prometheus", Token: "prometheus-token", Level: flow.Internal, Role: auth.RoleSender},
			auth.Credential{Name: "board", Token: "board-token", Level: flow.Internal, Role: auth.RoleViewer},
		)
	})...).Handler()
}

const (
	asSender  = "Authorization: Bearer prometheus-token"
	asReader  = "Authorization: Bearer board-token"
	basic     = "Authorization: Basic YW55OmEvc2Vjb25kLXRva2Vu" // any:a/second-token
	plainText = "Content-Type: text/plain"
)

func TestNotesAreSentToTheirTarget(t *testing.T) {
	t.Parallel()
	g := newGateway()
	h := serveSenders(t, g)
	w := call(h, "POST", "/notify/ops", "disk *full*\u202e\n97 %", plainText, "Title: Backup", "Priority: urgent", "Tags: disk,db1", "Click: https://x.example/a_b", "Idempotency-Key: 7")
	require.Equal(t, http.StatusAccepted, w.Code, w.Body)
	require.JSONEq(t, `{"id":"dlv_1","status":"queued"}`, w.Body.String())
	require.Equal(t, outbound.Proactive{
		Channel: "telegram", Account: "work", To: "1001", Thread: "7",
		Text:  "🚨 **Backup**\ndisk \\*full\\*\\\\u202e\n97 %\n\\[disk, db1\\]\nhttps://x.example/a\\_b",
		Label: flow.NewLabel(flow.Public, flow.Untrusted), Idempotency: "api/7", Reader: flow.Restricted, Actor: "operator",
	}, g.messages[0])

	w = call(h, "POST", "/notify/ops", "x", plainText, asSender)
	require.Equal(t, http.StatusAccepted, w.Code, w.Body)
	require.Equal(t, []any{"x", flow.NewLabel(flow.Internal, flow.Untrusted), "token:prometheus"}, []any{g.messages[1].Text, g.messages[1].Label, g.messages[1].Actor})

	w = call(h, "POST", "/notify/ops", "x", plainText, "Sluice-Label: CONFIDENTIAL")
	require.Equal(t, http.StatusAccepted, w.Code, w.Body)
	require.Equal(t, flow.NewLabel(flow.Confidential, flow.Untrusted), g.messages[2].Label)
}

func TestNotesThatAreRefused(t *testing.T) {
	t.Parallel()
	g := newGateway()
	h := serveSenders(t, g)
	for name, c := range map[string]struct {
		method, path, body string
		headers            []string
		status             int
		says               string
	}{
		"no token":      {"POST", "/notify/ops", "x", []string{"Authorization: "}, 401, "unauthorized"},
		"reader":        {"POST", "/notify/ops", "x", []string{asReader}, 403, "has the role viewer"},
		"no target":     {"POST", "/notify/else", "x", []string{plainText}, 404, `no target \"else\": want owner, or a name from targets`},
		"empty":         {"POST", "/notify/ops", "", nil, 400, "the text is empty"},
		"above":         {"POST", "/notify/ops", "x", []string{asSender, plainText, "Sluice-Label: RESTRICTED"}, 403, "above INTERNAL"},
		"no label":      {"POST", "/notify/ops", "x", []string{plainText, "Sluice-Label: SECRET"}, 400, "not a level"},
		"large":         {"POST", "/notify/ops", strings.Repeat("x", 1<<20), []string{plainText}, 413, "the body is larger than"},
		"long":          {"POST", "/notify/ops", strings.Repeat("x", 64<<10+1), []string{plainText}, 413, "the text has 65537 bytes, more than 65536"},
		"query":         {"POST", "/notify/ops?title=x", "x", []string{plainText}, 422, "title: unknown query parameter"},
		"token there":   {"POST", "/notify/ops?token=" + token, "x", []string{"Authorization: "}, 401, "unauthorized"},
		"a file":        {"POST", "/notify/ops", "x", []string{"Content-Type: multipart/form-data; boundary=x"}, 400, "files are not supported"},
		"other method":  {"PUT", "/notify/ops", "x", nil, 404, "not_found"},
		"deeper":        {"POST", "/notify/ops/x", "x", nil, 404, "not_found"},
		"cross site":    {"POST", "/notify/ops", "x", []string{"Origin: https://evil.example"}, 403, "cross_site"},
		"foreign host":  {"POST", "/notify/ops", "x", []string{"Host: evil.example"}, 421, "unknown_host"},
		"not served":    {"GET", "/api/v2/nothing", "", nil, 404, "not_found"},
		"without token": {"GET", "/api/v2/nothing", "", []string{"Authorization: "}, 401, "unauthorized"},
	} {
		w := call(h, c.method, c.path, c.body, c.headers...)
		require.Equal(t, c.status, w.Code, "%s: %s", name, w.Body)
		require.Contains(t, w.Body.String(), c.says, name)
	}
	require.Empty(t, g.messages)
}

// TestATargetAboveTheSenderIsReachedButNotDescribed: what is said goes up, and nothing comes back.
func TestATargetAboveTheSenderIsReachedButNotDescribed(t *testing.T) {
	t.Parallel()
	g := newGateway()
	h := serveSenders(t, g, func(c *httpapi.Config) { c.SinkLevel = func(sessions.Route) flow.Level { return flow.Restricted } })
	require.Equal(t, http.StatusAccepted, call(h, "POST", "/notify/ops", "x", plainText, asSender).Code)
	g.fail = &request.Error{Field: "to", Text: "telegram knows no 1001"}
	w := call(h, "POST", "/notify/ops", "x", plainText, asSender)
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
	require.Contains(t, w.Body.String(), "the target ops cannot be reached")
	require.NotContains(t, w.Body.String(), "1001")
	w = call(h, "POST", "/notify/ops", "x", plainText)
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Contains(t, w.Body.String(), "telegram knows no 1001")
}

// TestASenderOnlySends: the role opens nothing else, whatever it names.
func TestASenderOnlySends(t *testing.T) {
	t.Parallel()
	h := serveSenders(t, newGateway())
	for _, ask := range []struct{ method, path string }{
		{"GET", "/v1/sessions"},
		{"POST", "/v1/messages"},
		{"GET", "/v1/status"},
		{"GET", "/metrics"},
		{"GET", "/openapi.json"},
		{"GET", "/api/v2/alerts"},
		{"POST", "/api/v2/silences"},
		{"DELETE", "/api/v2/silence/x"},
		{"GET", "/notify/ops"},
		{"POST", "/v1/notify"},
	} {
		w := call(h, ask.method, ask.path, "", asSender)
		require.Equal(t, http.StatusForbidden, w.Code, "%s %s", ask.method, ask.path)
		require.Contains(t, w.Body.String(), "has the role sender and may only send alerts and notes")
	}
}

// TestBasicIsForSendersOnly: other services' clients know a user name and a password. The rest of the API does not take them.
func TestBasicIsForSendersOnly(t *testing.T) {
	t.Parallel()
	h := serveSenders(t, newGateway(), func(c *httpapi.Config) {
		c.Access.Tokens = append(c.Access.Tokens, auth.Credential{Name: "other", Token: "a/second-token", Level: flow.Public, Role: auth.RoleOperator})
	})
	require.Equal(t, http.StatusAccepted, call(h, "POST", "/notify/ops", "x", plainText, basic).Code)
	require.Equal(t, http.StatusUnauthorized, call(h, "POST", "/notify/ops", "x", plainText, "Authorization: Basic YW55Om5v").Code)
	require.Equal(t, http.StatusUnauthorized, call(h, "GET", "/v1/sessions", "", basic).Code)
}

func TestATokenMaySendOnlySoMuch(t *testing.T) {
	t.Parallel()
	h := serveSenders(t, newGateway())
	for range 5000 {
		require.Equal(t, http.StatusAccepted, call(h, "POST", "/notify/ops", "x", plainText, asSender).Code)
	}
	w := call(h, "POST", "/notify/ops", "x", plainText, asSender)
	require.Equal(t, http.StatusTooManyRequests, w.Code)
	require.Equal(t, "1", w.Header().Get("Retry-After"))
	require.Contains(t, w.Body.String(), "this token sends too much")
	require.Equal(t, http.StatusAccepted, call(h, "POST", "/notify/ops", "x", plainText).Code, "of another token")
}
