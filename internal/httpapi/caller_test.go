package httpapi_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi"
	"sluice/internal/httpapi/auth"
	"sluice/policy/flow"
	"sluice/sessions"
)

// withTokens also admits callers with one of these tokens.
func withTokens(more ...auth.Credential) func(*httpapi.Config) {
	return func(c *httpapi.Config) { c.Access.Tokens = append(c.Access.Tokens, more...) }
}

// TestAReaderOnlyLooks: what changes something is refused before anything is looked at.
func TestAReaderOnlyLooks(t *testing.T) {
	t.Parallel()
	g := newGateway()
	g.add(sessions.Record{ID: "sess_000000000001", Key: "agent:main:main", Agent: "main"})
	h := newServer(t, g, withTokens(
		auth.Credential{Name: "board", Token: "look", Level: flow.Restricted, Role: auth.RoleViewer},
		auth.Credential{Name: "ops", Token: "do", Level: flow.Restricted, Role: auth.RoleOperator},
	)).Handler()
	for _, c := range []struct {
		token, method, path string
		want                int
	}{
		{"look", "GET", "/v1/sessions", http.StatusOK},
		{"look", "HEAD", "/v1/sessions/main", http.StatusOK},
		{"look", "GET", "/v1/sessions/main", http.StatusOK},
		{"look", "DELETE", "/v1/sessions/main", http.StatusForbidden},
		{"look", "DELETE", "/v1/sessions/missing", http.StatusForbidden},
		{"look", "POST", "/v1/nothing", http.StatusForbidden},
		{"look", "PATCH", "/v1/sessions/main", http.StatusForbidden},
		{"look", "POST", "/v1/sessions", http.StatusForbidden},
		{"look", "OPTIONS", "/v1/sessions", http.StatusForbidden},
		{"look", "POST", "/a2a/main", http.StatusForbidden},
		{"look", "POST", "/v1/policy/check", http.StatusBadRequest}, // it only reads; the body is missing
		{"do", "POST", "/v1/sessions", http.StatusCreated},
		{"lo", "GET", "/v1/sessions", http.StatusUnauthorized},
		{"", "GET", "/v1/sessions", http.StatusUnauthorized},
	} {
		w := call(h, c.method, c.path, "", "Authorization: Bearer "+c.token)
		require.Equal(t, c.want, w.Code, "%+v: %s", c, w.Body)
		if c.want == http.StatusForbidden {
			require.JSONEq(t, `{"error":"forbidden","message":"the token board has the role viewer and may only read; use a token with another role"}`, w.Body.String())
		}
	}
	require.Empty(t, g.ended)
}

// What is done with a named token is its bearer's doing, and not the owner's.
func TestTheBearerOfATokenEndsASession(t *testing.T) {
	t.Parallel()
	g := newGateway()
	h := newServer(t, g, withTokens(auth.Credential{Name: "ops", Token: "do", Level: flow.Restricted, Role: auth.RoleOperator})).Handler()
	for _, bearer := range []string{token, "do"} {
		for _, r := range [][2]string{{"POST", "/v1/sessions/agent:main:main/reset"}, {"DELETE", "/v1/sessions/agent:main:main"}, {"DELETE", "/v1/sessions?status=idle"}} {
			g.add(sessions.Record{ID: "sess_000000000001", Key: "agent:main:main", Agent: "main"})
			w := call(h, r[0], r[1], "", "Authorization: Bearer "+bearer)
			require.Less(t, w.Code, 300, "%v: %s", r, w.Body)
		}
	}
	require.Equal(t, []string{"operator", "operator", "operator", "token:ops", "token:ops", "token:ops"}, g.enders)
}
