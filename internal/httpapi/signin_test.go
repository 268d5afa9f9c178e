package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi"
	"sluice/internal/httpapi/auth"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/sqlite"
	"sluice/store/sqlite/sqlitetest"
)

// entrance is a server with a store of tokens and sign-ins. Its clock can be set.
func entrance(t *testing.T, now *time.Time, settings ...func(*httpapi.Config)) (*gateway, http.Handler) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Config{Dir: sqlitetest.Dir(t)})
	require.NoError(t, err)
	g := newGateway()
	g.add(sessions.Record{ID: "sess_000000000001", Key: "agent:main:main", Agent: "main", Persistent: true})
	if now == nil {
		at := clock
		now = &at
	}
	s := newServer(t, g, append([]func(*httpapi.Config){
		withTokens(auth.Credential{Name: "ops", Token: "ops-token", Level: flow.Internal, Role: auth.RoleOperator},
			auth.Credential{Name: "board", Token: "board-token", Level: flow.Public, Role: auth.RoleViewer},
			auth.Credential{Name: "prometheus", Token: "sender-token", Level: flow.Internal, Role: auth.RoleSender}),
		func(c *httpapi.Config) { c.Rows.Access, c.Now = db, func() time.Time { return *now } },
	}, settings...)...)
	t.Cleanup(func() { require.NoError(t, s.Stop(context.Background())); require.NoError(t, db.Close()) })
	return g, s.Handler()
}

// browser is what a browser keeps after signing in.
type browser struct{ cookie, key string }

func (b browser) headers(more ...string) []string {
	return append([]string{"Authorization: ", "Cookie: " + b.cookie, "Sluice-Key: " + b.key, "Sec-Fetch-Site: same-origin", "Sluice-Client: page"}, more...)
}

func signIn(t *testing.T, h http.Handler, body string) browser {
	t.Helper()
	w := call(h, "POST", "/login", body, "Authorization: ", "Sec-Fetch-Site: same-origin")
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	var got struct {
		Key string
		Me  struct{ Role, Level, Via string }
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
	require.Equal(t, "sign-in", got.Me.Via)
	cookies := w.Result().Cookies()
	require.Len(t, cookies, 1)
	require.True(t, cookies[0].HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, cookies[0].SameSite)
	return browser{cookies[0].Name + "=" + cookies[0].Value, got.Key}
}

func link(t *testing.T, h http.Handler, headers ...string) string {
	t.Helper()
	w := call(h, "POST", "/v1/links", "", headers...)
	require.Equal(t, http.StatusCreated, w.Code, w.Body.String())
	var got struct{ Code, Path string }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
	require.Equal(t, "/#link="+got.Code, got.Path)
	return `{"link":"` + got.Code + `"}`
}

func TestABrowserNeedsTheCookieAndTheKey(t *testing.T) {
	t.Parallel()
	_, h := entrance(t, nil)
	b := signIn(t, h, link(t, h))
	other := signIn(t, h, `{"token":"ops-token"}`)
	const path = "/v1/sessions/main"
	for name, c := range map[string]struct {
		headers []string
		want    int
	}{
		"both":                    {b.headers(), 200},
		"cookie alone":            {[]string{"Authorization: ", "Cookie: " + b.cookie}, 401},
		"key alone":               {[]string{"Authorization: ", "Sluice-Key: " + b.key}, 401},
		"another's key":           {browser{b.cookie, other.key}.headers(), 401},
		"wrong token beside them": {b.headers("Authorization: Bearer wrong"), 401},
		"another port":            {b.headers("Sec-Fetch-Site: same-site"), 403},
		"another site":            {b.headers("Sec-Fetch-Site: cross-site"), 403},
		"a link to data":          {b.headers("Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: navigate"), 403},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, call(h, "GET", path, "", c.headers...).Code)
		})
	}
	require.Equal(t, 200, call(h, "GET", "/", "", "Authorization: ", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate").Code, "a link from a chat leads to the page")
	require.Equal(t, 403, call(h, "POST", "/login", `{"token":"ops-token"}`, "Authorization: ", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate").Code, "nobody signs another one in")
}

func TestALinkWorksOnceForAMinute(t *testing.T) {
	t.Parallel()
	now := clock
	_, h := entrance(t, &now)
	used := link(t, h)
	signIn(t, h, used)
	w := call(h, "POST", "/login", used, "Authorization: ")
	require.Equal(t, 401, w.Code)
	require.Contains(t, w.Body.String(), "used before or has expired")
	late := link(t, h)
	now = now.Add(time.Minute)
	require.Equal(t, 401, call(h, "POST", "/login", late, "Authorization: ").Code)
	require.Equal(t, 400, call(h, "POST", "/login", `{}`, "Authorization: ").Code)
	require.Equal(t, 403, call(h, "POST", "/login", `{"token":"sender-token"}`, "Authorization: ").Code)
	b := signIn(t, h, link(t, h))
	require.Equal(t, 403, call(h, "POST", "/v1/links", "", b.headers()...).Code, "a browser makes no links to itself")
	now = now.Add(14 * 24 * time.Hour)
	require.Equal(t, 401, call(h, "GET", "/v1/me", "", b.headers()...).Code, "sign-ins end")
}

func TestGuessesAreSlowedDown(t *testing.T) {
	t.Parallel()
	now := clock
	_, h := entrance(t, &now)
	for range 20 {
		require.Equal(t, 401, call(h, "POST", "/login", `{"token":"guess"}`, "Authorization: ").Code)
	}
	require.Equal(t, 429, call(h, "POST", "/login", `{"token":"guess"}`, "Authorization: ").Code)
	require.Equal(t, 429, call(h, "POST", "/login", `{"token":"ops-token"}`, "Authorization: ").Code)
	require.Equal(t, 429, call(h, "POST", "/login", `{"link":"guess"}`, "Authorization: ").Code)
	signIn(t, h, link(t, h)) // nobody can guess a link, so the owner of the machine always gets in

	elsewhere := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8484/login", strings.NewReader(`{"token":"ops-token"}`))
	elsewhere.Header.Set("Content-Type", "application/json")
	elsewhere.RemoteAddr = "198.51.100.9:1234"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, elsewhere)
	require.Equal(t, 200, w.Code, "a stranger locks nobody else out")

	now = now.Add(time.Minute)
	require.Equal(t, 401, call(h, "POST", "/login", `{"token":"guess"}`, "Authorization: ").Code)
	require.Equal(t, 200, call(h, "POST", "/login", `{"token":"ops-token"}`, "Authorization: ").Code)
}

func TestAMadeTokenGetsNothingFromAConfiguredOneOfItsName(t *testing.T) {
	t.Parallel()
	const made = auth.MadePrefix + "weak"
	_, h := entrance(t, nil, func(c *httpapi.Config) { // as after a restart with another configuration
		require.NoError(t, c.Rows.Access.Commit(t.Context(), ledger.Change{AccessChange: ledger.AccessChange{Tokens: []ledger.APIToken{
			{ID: "tok_1", Name: "ops", Sum: auth.Sum(made), Role: "viewer", Level: flow.Public, Created: clock},
		}}}))
	})
	require.Equal(t, 401, call(h, "POST", "/login", `{"token":"`+made+`"}`, "Authorization: ").Code)
	require.Equal(t, 401, call(h, "POST", "/v1/links", "", "Authorization: Bearer "+made).Code)
	require.Equal(t, 204, call(h, "DELETE", "/v1/tokens/ops", "").Code, "the made one can be revoked")
	require.Equal(t, 409, call(h, "DELETE", "/v1/tokens/ops", "").Code)
	require.Equal(t, 200, call(h, "GET", "/v1/me", "", "Authorization: Bearer ops-token").Code)
}

func TestSigningOut(t *testing.T) {
	t.Parallel()
	_, h := entrance(t, nil)
	b, other := signIn(t, h, `{"token":"`+token+`"}`), signIn(t, h, `{"token":"board-token"}`)
	w := call(h, "POST", "/logout", "", b.headers()...)
	require.Equal(t, 204, w.Code)
	require.Contains(t, w.Header().Get("Set-Cookie"), "1970")
	require.Equal(t, 401, call(h, "GET", "/v1/me", "", b.headers()...).Code)
	require.Equal(t, 200, call(h, "GET", "/v1/me", "", other.headers()...).Code)
	require.Equal(t, 204, call(h, "POST", "/logout", "", other.headers()...).Code, "viewers sign out, too")
}

func TestOwnersMakeAndRevokeTokens(t *testing.T) {
	t.Parallel()
	_, h := entrance(t, nil)
	const body = `{"name":"night-shift","role":"operator","level":"INTERNAL","expires_in":"720h"}`
	w := call(h, "POST", "/v1/tokens", body)
	require.Equal(t, 201, w.Code, w.Body.String())
	var made struct{ Token, Role, Level, By string }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &made))
	require.Equal(t, "operator", made.By)
	require.Equal(t, 409, call(h, "POST", "/v1/tokens", body).Code)
	require.Equal(t, 409, call(h, "POST", "/v1/tokens", strings.Replace(body, "night-shift", "ops", 1)).Code, "the configuration has it")
	require.Equal(t, 422, call(h, "POST", "/v1/tokens", strings.Replace(body, "night-shift", "a:b", 1)).Code)
	require.Equal(t, 403, call(h, "POST", "/v1/tokens", body, "Authorization: Bearer ops-token").Code)
	require.Equal(t, 403, call(h, "GET", "/v1/tokens", "", "Authorization: Bearer "+made.Token).Code)

	w = call(h, "GET", "/v1/me", "", "Authorization: Bearer "+made.Token)
	require.JSONEq(t, `{"name":"night-shift","actor":"token:night-shift","role":"operator","level":"INTERNAL","token_level":"INTERNAL","via":"token"}`, w.Body.String())
	b := signIn(t, h, `{"token":"`+made.Token+`"}`)
	w = call(h, "GET", "/v1/tokens", "")
	require.NotContains(t, w.Body.String(), made.Token)
	require.Contains(t, w.Body.String(), `"name":"night-shift"`)
	require.Contains(t, w.Body.String(), `"last_used"`)

	require.Equal(t, 204, call(h, "DELETE", "/v1/tokens/night-shift", "").Code)
	require.Equal(t, 404, call(h, "DELETE", "/v1/tokens/night-shift", "").Code)
	require.Equal(t, 409, call(h, "DELETE", "/v1/tokens/ops", "").Code)
	require.Equal(t, 401, call(h, "GET", "/v1/me", "", "Authorization: Bearer "+made.Token).Code)
	require.Equal(t, 401, call(h, "GET", "/v1/me", "", b.headers()...).Code)
}

// A token of the role owner manages access, up to its own level.
func TestAnOwnersTokenIsBoundedByItsLevel(t *testing.T) {
	t.Parallel()
	_, h := entrance(t, nil)
	w := call(h, "POST", "/v1/tokens", `{"name":"second","role":"owner","level":"INTERNAL"}`)
	require.Equal(t, 201, w.Code, w.Body.String())
	var made struct{ Token string }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &made))
	second := "Authorization: Bearer " + made.Token
	require.Equal(t, 201, call(h, "POST", "/v1/tokens", `{"name":"third","role":"owner","level":"INTERNAL"}`, second).Code)
	require.Equal(t, 403, call(h, "POST", "/v1/tokens", `{"name":"fourth","role":"viewer","level":"CONFIDENTIAL"}`, second).Code)
}

// Streams of a revoked token and of a browser that has signed out end, on this replica at once and elsewhere soon.
func TestStreamsEndWithTheAccess(t *testing.T) {
	t.Parallel()
	g, h := entrance(t, nil)
	stream := func(headers []string) <-chan struct{} {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			call(h, "GET", "/v1/sessions/main/events", "", headers...)
		}()
		<-g.follower
		return ended
	}
	b := signIn(t, h, link(t, h))
	out := stream(b.headers())
	require.Equal(t, 204, call(h, "POST", "/logout", "", b.headers()...).Code)
	<-out

	w := call(h, "POST", "/v1/tokens", `{"name":"short","role":"viewer","level":"RESTRICTED"}`)
	var made struct{ Token string }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &made))
	revoked := stream([]string{"Authorization: Bearer " + made.Token})
	require.Equal(t, 204, call(h, "DELETE", "/v1/tokens/short", "").Code)
	<-revoked
}

func TestATrustedProxyNamesPeople(t *testing.T) {
	t.Parallel()
	_, h := entrance(t, nil, func(c *httpapi.Config) {
		c.Access.Proxy = auth.Proxy{From: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, Header: "X-Forwarded-Email", People: []auth.Person{
			{User: "ann@example.org", Level: flow.Restricted, Role: auth.RoleOwner}, {User: "*@example.org", Level: flow.Internal, Role: auth.RoleViewer},
		}}
	})
	ask := func(from string, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8484/v1/me", http.NoBody)
		r.RemoteAddr = from
		for _, header := range headers {
			name, value, _ := strings.Cut(header, ": ")
			r.Header.Add(name, value)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	const proxy, page = "192.0.2.7:999", "Sluice-Client: page"
	require.Contains(t, ask(proxy, page, "X-Forwarded-Email: ann@example.org").Body.String(), `"actor":"proxy:ann@example.org","role":"owner"`)
	require.Contains(t, ask(proxy, page, "X-Forwarded-Email: bob@example.org").Body.String(), `"role":"viewer","level":"INTERNAL"`)
	require.Equal(t, 401, ask(proxy, page, "X-Forwarded-Email: eve@example.com").Code)
	require.Equal(t, 401, ask(proxy, page).Code)
	require.Equal(t, 401, ask(proxy, "X-Forwarded-Email: ann@example.org").Code, "another site's page cannot send the header of the page")
	require.Equal(t, 401, ask("198.51.100.1:999", page, "X-Forwarded-Email: ann@example.org").Code, "not a proxy of ours")
	require.Equal(t, 401, ask(proxy, page, "X-Forwarded-Email: bob@example.org", "X-Forwarded-Email: ann@example.org").Code)
}

func TestAccessTakenElsewhereEndsSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tokens := auth.NewTokens(auth.Config{Rows: nobody{}, PageLevel: func() flow.Level { return flow.Public }, Now: time.Now})
		k := auth.NewKeeper(tokens, nobody{}, nil)
		k.Start()
		defer k.Stop(t.Context())
		ctx, release := tokens.Live().Watch(t.Context(), auth.Caller{Name: "gone"})
		defer release()
		begun := time.Now()
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), auth.ErrEnded)
		require.LessOrEqual(t, time.Since(begun), 2*time.Second)
	})
}

// The requests of a browser count for the token with which it has signed in. Owners are not limited.
func TestASignInCountsForItsToken(t *testing.T) {
	t.Parallel()
	var counted []string
	_, h := entrance(t, nil, func(c *httpapi.Config) {
		c.Within = func(_ context.Context, who auth.Caller) error { counted = append(counted, who.Name); return nil }
	})
	for _, with := range []string{"ops-token", token} {
		b := signIn(t, h, `{"token":"`+with+`"}`)
		require.Equal(t, 200, call(h, "GET", "/v1/me", "", b.headers()...).Code)
	}
	require.Equal(t, []string{"ops"}, counted)
}
