package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// asked is a request as the gateway got it.
type asked struct {
	Method, Path, Query, Accept, Type, Token, Key, Body string
}

// serve starts a gateway that answers every request the same way, and notes the requests.
func serve(t *testing.T, h http.HandlerFunc) (*Client, *[]asked) {
	t.Helper()
	var mu sync.Mutex
	var got []asked
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		mu.Lock()
		got = append(got, asked{
			r.Method, r.URL.EscapedPath(), r.URL.RawQuery, r.Header.Get("Accept"), r.Header.Get("Content-Type"),
			r.Header.Get("Authorization"), r.Header.Get("Idempotency-Key"), string(body),
		})
		mu.Unlock()
		h(w, r)
	}))
	t.Cleanup(server.Close)
	transport := NewTransport()
	t.Cleanup(transport.CloseIdleConnections)
	c, err := New(&http.Client{Transport: transport}, server.URL+"/", "the-token")
	require.NoError(t, err)
	return c, &got
}

func answer(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

func refuse(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

func TestCallSendsTheRequest(t *testing.T) {
	t.Parallel()
	c, got := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", `</v1/runs?limit=5&after=run_9>; rel="next"`)
		_, _ = io.WriteString(w, `{"runs":[]}`)
	})
	a, err := c.Call(t.Context(), Request{
		Method: http.MethodPost, Path: Path("runs", "a/b c"), Query: Query("limit", "5", "after", "", "status", "a b"),
		Body: map[string]int{"n": 1}, Headers: map[string]string{"Idempotency-Key": "k"},
	})
	require.NoError(t, err)
	require.Equal(t, Answer{Body: []byte(`{"runs":[]}`), Next: "run_9"}, a)
	require.Equal(t, []asked{{
		Method: "POST", Path: "/v1/runs/a%2Fb%20c", Query: "limit=5&status=a+b", Accept: "application/json", Type: "application/json",
		Token: "Bearer the-token", Key: "k", Body: `{"n":1}`,
	}}, *got)

	_, err = c.Call(t.Context(), Request{Path: "/v1/status"})
	require.NoError(t, err)
	require.Equal(t, asked{Method: "GET", Path: "/v1/status", Accept: "application/json", Token: "Bearer the-token"}, (*got)[1])

	_, err = c.Call(t.Context(), Request{Path: "/", Body: func() {}})
	require.ErrorContains(t, err, "encode request")
	_, err = c.Call(t.Context(), Request{Path: "/", Method: "a b"})
	require.ErrorContains(t, err, "make request")
}

func TestGetDecodesTheAnswer(t *testing.T) {
	t.Parallel()
	c, _ := serve(t, answer(`{"runs":[{"id":"run_1"}]}`))
	got, err := Get[RunList](t.Context(), c, Request{Path: "/v1/runs"})
	require.NoError(t, err)
	require.Equal(t, RunList{[]Run{{ID: "run_1"}}}, got)

	c, _ = serve(t, answer(`<html>`))
	_, err = Get[RunList](t.Context(), c, Request{Path: "/v1/runs"})
	require.ErrorContains(t, err, "does not answer like a Sluice gateway (HTTP status 200 OK): set SLUICE_URL to the gateway's address")
}

func TestRefusalsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status int
		path   string
		body   string
		want   string
	}{
		"wrong token":        {401, "/v1/status", `{"error":"unauthorized","message":"x"}`, "the gateway rejected the access token: set SLUICE_TOKEN, or run this command as a user who can read the gateway's state folder"},
		"no such session":    {404, "/v1/sessions/agent:main:x/history", `{"message":"not found"}`, "there is no session \"agent:main:x\": `sluice sessions list` shows what there is"},
		"no such run":        {404, "/v1/runs/run%2F1", `{"message":"not found"}`, "there is no run \"run/1\": `sluice runs list` shows what there is"},
		"no such delivery":   {404, "/v1/deliveries/d/retry", `{"error":"not_found"}`, "there is no delivery \"d\": `sluice deliveries list` shows what there is"},
		"no such skill":      {404, "/v1/skills/m", `{"error":"not_found"}`, "there is no skill \"m\": `sluice skills list` shows what there is"},
		"no such memory":     {404, "/v1/memory/m", `{"error":"not_found"}`, "there is no memory \"m\": `sluice memory list` shows what there is"},
		"no such approval":   {404, "/v1/approvals/a", `{"error":"not_found"}`, "there is no approval \"a\": `sluice approvals list` shows what there is"},
		"no such agent":      {404, "/v1/agents/a", `{"error":"not_found"}`, "there is no agent \"a\": `sluice agents list` shows what there is"},
		"no such code":       {404, "/v1/nodes/approve", `{"message":"no node waits with this code"}`, "no node waits with this code"},
		"no such job":        {404, "/v1/cron/standup/pause", `{"message":"not found"}`, "there is no job \"standup\": `sluice cron list` shows what there is"},
		"no such hook":       {404, "/v1/hooks/ci/requests", `{"error":"not_found"}`, "there is no hook \"ci\": `sluice hooks list` shows what there is"},
		"no such silence":    {404, "/v1/silences/s", `{"error":"not_found"}`, "there is no silence \"s\": `sluice alerts silences list` shows what there is"},
		"no such group":      {404, "/v1/alert-groups/ops.0", `{"error":"not_found"}`, "there is no open alert group \"ops.0\": `sluice alerts groups list` shows what there is"},
		"no such request":    {404, "/v1/hooks/ci/requests/r", `{"message":"not found"}`, "the hook ci has no request \"r\", or there is no such hook: `sluice hooks list ci` shows those that are kept"},
		"nothing to explain": {404, "/v1/why/x", `{"error":"not_found"}`, "nothing has the id \"x\", or your token may not see it: `sluice why --help` lists what has an id"},
		"another thing":      {404, "/v1/pairings/c/approve", `{"message":"there is no such code"}`, "there is no such code"},
		"another program":    {404, "/v1/deliveries/d", `404 page not found`, "ADDRESS does not answer like a Sluice gateway (HTTP status 404 Not Found): set SLUICE_URL to the gateway's address"},
		"the gateway's word": {409, "/v1/sessions/a/messages", `{"error":"busy","message":"the session is busy"}`, "the session is busy"},
		"a proxy's page":     {502, "/v1/status", `<html>bad gateway</html>`, "the gateway answered with HTTP status 502 Bad Gateway"},
		"an odd status":      {599, "/v1/status", ``, "the gateway answered with HTTP status 599"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := serve(t, refuse(test.status, test.body))
			_, err := c.Call(t.Context(), Request{Path: test.path})
			require.EqualError(t, err, strings.ReplaceAll(test.want, "ADDRESS", c.Address()))
			var refused *Error
			require.ErrorAs(t, err, &refused)
			require.Equal(t, test.status, refused.Status)
		})
	}
}

func TestNoGatewaySaysHowToStartOne(t *testing.T) {
	t.Parallel()
	c, err := New(&http.Client{Transport: NewTransport()}, "http://127.0.0.1:1", "t")
	require.NoError(t, err)
	_, err = c.Call(t.Context(), Request{Path: "/v1/status"})
	require.EqualError(t, err, "no gateway is running at http://127.0.0.1:1: start it with `sluice serve`, or set SLUICE_URL to its address")
}

// A connection that breaks is not the same as a gateway that does not run.
func TestABrokenConnection(t *testing.T) {
	t.Parallel()
	c, _ := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	_, err := c.Call(t.Context(), Request{Path: "/v1/status"})
	require.ErrorContains(t, err, "ask the gateway: ")
	require.NotContains(t, err.Error(), "is running")

	c, _ = serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "half")
	})
	_, err = c.Call(t.Context(), Request{Path: "/v1/status"})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

// hanging never answers.
type hanging struct{}

func (hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, context.Cause(r.Context())
}

func TestCallsHaveADeadlineAndLongOnesHaveNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &Client{http: &http.Client{Transport: hanging{}}, base: "http://gateway"}
		begun := time.Now()
		_, err := c.Call(t.Context(), Request{Path: "/v1/status"})
		require.EqualError(t, err, "ask the gateway: no response within 30s")
		require.Equal(t, CallTimeout, time.Since(begun))

		stop := errors.New("interrupted")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, stop)
		defer cancel()
		_, err = c.CallSlowly(ctx, Request{Path: "/v1/audit/verify"})
		require.ErrorIs(t, err, stop)
		require.Equal(t, time.Hour+CallTimeout, time.Since(begun))
	})
}

func TestNextPage(t *testing.T) {
	t.Parallel()
	for link, want := range map[string]string{
		"": "",
		`</v1/sessions?after=sess_1>; rel="next"`:     "sess_1",
		`</v1/audit?limit=1&after=a%2Fb>; rel="next"`: "a/b",
		`</v1/audit>; rel="next"`:                     "",
		`</v1/audit?after=x>; rel="prev"`:             "",
		`<%zz?after=x>; rel="next"`:                   "",
	} {
		require.Equal(t, want, nextPage(link), link)
	}
}

func TestReadyTakesEveryStatus(t *testing.T) {
	t.Parallel()
	c, got := serve(t, refuse(http.StatusServiceUnavailable, `{"ready":false}`))
	status, body, err := c.Ready(t.Context())
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, `{"ready":false}`, string(body))
	require.Equal(t, "/readyz", (*got)[0].Path)
	require.Equal(t, "Bearer the-token", (*got)[0].Token)
}

// An address may hold a secret.
func TestFetchKeepsTheAddressOutOfErrors(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"http://user:hush-hush@127.0.0.1:1/hush-hush", "http://[hush-hush"} {
		_, _, err := Fetch(t.Context(), &http.Client{Transport: NewTransport()}, address, "hush-hush")
		require.Error(t, err)
		require.NotContains(t, err.Error(), "hush")
	}
	c, got := serve(t, answer("ok"))
	status, body, err := Fetch(t.Context(), c.http, c.base+"/healthz", "")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "ok", string(body))
	require.Empty(t, (*got)[0].Token)
}

// No proxy of the environment sees the access token.
func TestTheTransportUsesNoProxy(t *testing.T) {
	t.Parallel()
	require.Nil(t, NewTransport().Proxy)
}
