package slacktest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/adapters/slack/slacktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start makes a server whose violations do not fail the test.
func start(t *testing.T, opts slacktest.Options) *slacktest.Server {
	t.Helper()
	opts.Redeliver = 20 * time.Millisecond
	s, err := slacktest.NewServer(opts)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	s.Join(slacktest.DirectID(1), slacktest.Direct, "")
	return s
}

func call(t *testing.T, s *slacktest.Server, method string, form url.Values) string {
	t.Helper()
	form.Set("token", slacktest.BotToken)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+method, strings.NewReader(form.Encode()))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	require.NoError(t, err)
	defer func() { require.NoError(t, resp.Body.Close()) }()
	var b strings.Builder
	_, err = io.Copy(&b, resp.Body)
	require.NoError(t, err)
	return b.String()
}

func TestViolationsOfTheLimits(t *testing.T) {
	t.Parallel()
	button := `[{"type":"actions","elements":[{"type":"button","action_id":"a","text":{"type":"plain_text","text":"%"}}]}]`
	for want, form := range map[string]url.Values{
		"40001 characters": {"text": {strings.Repeat("x", 40_001)}},
		"not encoded":      {"text": {"a < b"}},
		"51 blocks":        {"text": {"x"}, "blocks": {"[" + strings.Repeat(`{"type":"section","text":{"type":"mrkdwn","text":"x"}},`, 50) + `{"type":"section","text":{"type":"mrkdwn","text":"x"}}]`}},
		"3001 characters":  {"text": {"x"}, "blocks": {`[{"type":"section","text":{"type":"mrkdwn","text":"` + strings.Repeat("x", 3001) + `"}}]`}},
		"bad button":       {"text": {"x"}, "blocks": {strings.ReplaceAll(button, "%", strings.Repeat("x", 76))}},
		"block of type":    {"text": {"x"}, "blocks": {`[{"type":"marquee"}]`}},
		"metadata":         {"text": {"x"}, "metadata": {`{"event_type":"x"}`}},
		"is no timestamp":  {"text": {"x"}, "thread_ts": {"17"}},
	} {
		s := start(t, slacktest.Options{})
		form.Set("channel", slacktest.DirectID(1))
		call(t, s, "chat.postMessage", form)
		require.Len(t, s.Violations(), 1, want)
		require.Contains(t, s.Violations()[0], want)
	}
}

func TestViolationsOfThePublishedDescription(t *testing.T) {
	t.Parallel()
	if os.Getenv("SLUICE_API_SPECS") == "" {
		t.Skip("SLUICE_API_SPECS is not set")
	}
	for want, c := range map[string]struct {
		method string
		form   url.Values
	}{
		"missing channel":          {"chat.postMessage", url.Values{"text": {"x"}}},
		"unknown parameter colour": {"chat.postMessage", url.Values{"text": {"x"}, "channel": {"D1"}, "colour": {"red"}}},
		"mrkdwn: want boolean":     {"chat.postMessage", url.Values{"text": {"x"}, "channel": {"D1"}, "mrkdwn": {"perhaps"}}},
		"no such method":           {"chat.shout", url.Values{}},
		"limit: want integer":      {"conversations.list", url.Values{"limit": {"many"}}},
	} {
		s := start(t, slacktest.Options{})
		call(t, s, c.method, c.form)
		require.Len(t, s.Violations(), 1, want)
		require.Contains(t, s.Violations()[0], want)
	}
}

func TestPostsAreRepeatedUntilTheyAreTaken(t *testing.T) {
	t.Parallel()
	s := start(t, slacktest.Options{HTTP: true})
	var tries atomic.Int32
	retried := make(chan string, 1)
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if tries.Add(1) == 1 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		retried <- r.Header.Get("X-Slack-Retry-Num")
	}))
	t.Cleanup(gateway.Close)
	s.Callback(gateway.URL)
	s.Say(1, "hello")
	require.Equal(t, "1", <-retried)
	require.NoError(t, s.WaitConfirmed(t.Context()))
}

func TestEnvelopesAreRepeatedUntilTheyAreConfirmed(t *testing.T) {
	t.Parallel()
	s := start(t, slacktest.Options{})
	ws, resp, err := websocket.DefaultDialer.DialContext(t.Context(), strings.Replace(strings.TrimSuffix(s.URL(), "/api/"), "http", "ws", 1)+"/socket/x", nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = ws.Close(); _ = resp.Body.Close() })
	var e struct {
		Type  string `json:"type"`
		ID    string `json:"envelope_id"`
		Retry int    `json:"retry_attempt"`
	}
	require.NoError(t, ws.ReadJSON(&e))
	require.Equal(t, "hello", e.Type)
	name := slacktest.DirectID(1) + "/" + s.Say(1, "hello")
	for e.Retry < 2 {
		require.NoError(t, ws.ReadJSON(&e))
	}
	require.False(t, s.Confirmed(name))
	require.NoError(t, ws.WriteJSON(map[string]string{"envelope_id": "never"}))
	require.NoError(t, ws.WriteJSON(map[string]string{"envelope_id": e.ID}))
	require.NoError(t, s.WaitConfirmed(t.Context()))
	require.True(t, s.Confirmed(name))
	require.Len(t, s.Violations(), 1, "of the envelope that never was")
}

func TestTheTokenIsAsked(t *testing.T) {
	t.Parallel()
	s := start(t, slacktest.Options{})
	require.Contains(t, call(t, s, "apps.connections.open", url.Values{}), "invalid_auth", "the app's own token is needed there")
	s.Revoke()
	require.Contains(t, call(t, s, "auth.test", url.Values{}), "token_revoked")
}

func TestPlainShowsWhatPeopleSee(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"*bold* _it_ ~gone~ `a*b*c`":                         "bold it gone a*b*c",
		"<https://a.example|site> &amp; <https://b.example>": "site & https://b.example",
		"```\nx := a &lt; b\n```":                            "x := a < b",
		"2 * 3 * 4":                                          "2 * 3 * 4",
	} {
		require.Equal(t, want, slacktest.Plain(text))
	}
}
