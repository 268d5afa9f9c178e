package slack_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/slack"
	"sluice/adapters/slack/slacktest"
)

func httpSetup(t *testing.T) *setup {
	t.Helper()
	return newSetup(t, slacktest.Options{HTTP: true}, func(c *slack.Config) { c.Mode, c.AppToken = slack.HTTP, "" })
}

// posted is a signed request of JSON.
func posted(body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/channels/slack/default", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	slacktest.Sign(r, []byte(body), time.Now())
	return r
}

func postedForm(form url.Values) *http.Request {
	r := posted(form.Encode())
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

func (s *setup) serve(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.adapter.ServeCallback(w, r, s.inbox)
	return w
}

func message(text, ts string) string {
	body, _ := json.Marshal(map[string]any{
		"type": "event_callback", "team_id": slacktest.TeamID, "event_id": "Ev" + ts,
		"event": map[string]any{"type": "message", "channel": "D1", "channel_type": "im", "user": "U000001", "text": text, "ts": ts, "event_ts": ts},
	})
	return string(body)
}

const anyTS = "1700000000.000100"

func TestOnlyWhatSlackSignedIsTaken(t *testing.T) {
	t.Parallel()
	s := httpSetup(t)
	body := message("hello", anyTS)
	for name, change := range map[string]func(*http.Request){
		"no signature":          func(r *http.Request) { r.Header.Del("X-Slack-Signature") },
		"no time":               func(r *http.Request) { r.Header.Del("X-Slack-Request-Timestamp") },
		"another body":          func(r *http.Request) { slacktest.Sign(r, []byte(body+" "), time.Now()) },
		"no hex":                func(r *http.Request) { r.Header.Set("X-Slack-Signature", "v0=zz") },
		"another version":       func(r *http.Request) { r.Header.Set("X-Slack-Signature", "v1="+r.Header.Get("X-Slack-Signature")[3:]) },
		"cut":                   func(r *http.Request) { r.Header.Set("X-Slack-Signature", r.Header.Get("X-Slack-Signature")[:20]) },
		"too old":               func(r *http.Request) { slacktest.Sign(r, []byte(body), time.Now().Add(-6*time.Minute)) },
		"from the future":       func(r *http.Request) { slacktest.Sign(r, []byte(body), time.Now().Add(6*time.Minute)) },
		"time not a time":       func(r *http.Request) { r.Header.Set("X-Slack-Request-Timestamp", "now") },
		"another's signed time": func(r *http.Request) { r.Header.Set("X-Slack-Request-Timestamp", "1700000000") },
	} {
		r := posted(body)
		change(r)
		require.Equal(t, http.StatusUnauthorized, s.serve(r).Code, name)
	}
	require.Empty(t, s.inbox.got)
	require.Equal(t, http.StatusOK, s.serve(posted(body)).Code)
	require.Equal(t, "hello", s.inbox.wait(t, 1)[0].Text)
}

func TestCallbackRefusesWhatIsNoRequestOfSlack(t *testing.T) {
	t.Parallel()
	s := httpSetup(t)
	get := posted("")
	get.Method = http.MethodGet
	require.Equal(t, http.StatusMethodNotAllowed, s.serve(get).Code)
	large := strings.Repeat("x", 1<<20+1)
	require.Equal(t, http.StatusRequestEntityTooLarge, s.serve(posted(large)).Code)
	socket := newSetup(t, slacktest.Options{}, nil)
	require.Equal(t, http.StatusNotFound, socket.serve(posted(message("x", anyTS))).Code)
}

func TestURLVerification(t *testing.T) {
	t.Parallel()
	w := httpSetup(t).serve(posted(`{"type":"url_verification","challenge":"3eZbrw1aB","token":"x"}`))
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, "3eZbrw1aB", w.Body.String())
}

func TestWhatCanNeverBeReadIsConfirmed(t *testing.T) {
	t.Parallel()
	s := httpSetup(t)
	for _, body := range []string{
		"", "no json", "[]", `{"type":"event_callback"}`, `{"type":"event_callback","event":{"type":"message","ts":5}}`,
		`{"type":"event_callback","event":{"type":"brand_new"}}`, `{"type":"app_rate_limited"}`,
		`{"type":"event_callback","event":{"type":"message","subtype":"message_changed","channel":"C1"}}`,
		`{"type":"event_callback","event":{"type":"message","channel":"C1","user":"U1","text":"no ts"}}`,
	} {
		require.Equal(t, http.StatusOK, s.serve(posted(body)).Code, body)
	}
	for _, form := range []url.Values{{"ssl_check": {"1"}}, {"payload": {"{"}}, {"payload": {`{"type":"view_submission"}`}}, {"command": {"/x"}}} {
		require.Equal(t, http.StatusOK, s.serve(postedForm(form)).Code, form)
	}
	require.Empty(t, s.inbox.got)
}

func TestWhatIsNotStoredIsPostedAgainUnderTheSameName(t *testing.T) {
	t.Parallel()
	s := httpSetup(t)
	refusals := 1
	s.inbox.refuse = func(adapters.Inbound) error {
		if refusals--; refusals >= 0 {
			return errRefused
		}
		return nil
	}
	require.Equal(t, http.StatusServiceUnavailable, s.serve(posted(message("hello", anyTS))).Code)
	for range 2 {
		again := posted(message("hello", anyTS))
		again.Header.Set("X-Slack-Retry-Num", "1")
		again.Header.Set("X-Slack-Retry-Reason", "http_error")
		require.Equal(t, http.StatusOK, s.serve(again).Code)
	}
	got := s.inbox.wait(t, 2)
	require.Equal(t, got[0].Event, got[1].Event, "the acceptor knows it")
}

func TestAllKindsArriveAtOnePath(t *testing.T) {
	t.Parallel()
	s := httpSetup(t)
	command := s.serve(postedForm(url.Values{
		"command": {"/sluice"}, "text": {"status all"}, "channel_id": {"C1"}, "channel_name": {"general"}, "user_id": {"U000001"},
		"team_id": {slacktest.TeamID}, "response_url": {"https://hooks.slack.com/commands/1"}, "trigger_id": {"t1"},
	}))
	require.Equal(t, http.StatusOK, command.Code)
	require.Empty(t, command.Body.String(), "Slack would show it")
	press := `{"type":"block_actions","user":{"id":"U000001"},"team":{"id":"T0001"},"trigger_id":"t2",
		"container":{"type":"message","message_ts":"1700000000.000100","channel_id":"C1","thread_ts":"1600000000.000100"},
		"actions":[{"type":"button","action_id":"sluice_0","value":"/approve 1 yes","action_ts":"1700000001.000100"}]}`
	require.Equal(t, http.StatusOK, s.serve(postedForm(url.Values{"payload": {press}})).Code)
	got := s.inbox.wait(t, 2)
	require.Equal(t, "/status all", got[0].Text)
	require.Equal(t, "https://hooks.slack.com/commands/1", got[0].Route.Handle)
	require.Equal(t, "/approve 1 yes", got[1].Press)
	require.Empty(t, got[1].Text, "what a press means is not the platform's to say")
	require.EqualValues(t, "1600000000.000100", got[1].Route.Thread)
}

func TestRunEndsWhenTheAppIsRemoved(t *testing.T) {
	t.Parallel()
	for _, event := range []string{`{"type":"app_uninstalled"}`, `{"type":"tokens_revoked","tokens":{"bot":["U00BOT"]}}`} {
		s := httpSetup(t)
		s.run(t)
		s.srv.Inject(slacktest.Code("account_inactive").On("auth.test"))
		require.Equal(t, http.StatusOK, s.serve(posted(`{"type":"event_callback","event":`+event+`}`)).Code)
		require.Equal(t, adapters.Auth, adapters.AsFailure(<-s.runErr).Kind)
		require.Equal(t, adapters.Failed, s.adapter.State().Status)
		require.Contains(t, s.adapter.State().Detail, "get the current one")
	}
}

func TestAPersonsRevokedTokenIsNotTheBots(t *testing.T) {
	t.Parallel()
	s := httpSetup(t)
	s.run(t)
	require.Equal(t, http.StatusOK, s.serve(posted(`{"type":"event_callback","event":{"type":"tokens_revoked","tokens":{"oauth":["U1"]}}}`)).Code)
	require.Equal(t, http.StatusOK, s.serve(posted(message("still here", anyTS))).Code)
	require.Empty(t, s.runErr)
}

func FuzzCallback(f *testing.F) {
	f.Add([]byte(message("hi <@U1>", anyTS)))
	f.Add([]byte(`{"type":"event_callback","event":{"type":"reaction_added","user":"U1","reaction":"+1","item":{"type":"message","channel":"C1","ts":"1"}}}`))
	f.Add([]byte(`{"type":"event_callback","event":{"type":"message","subtype":"message_deleted","channel":"C1","deleted_ts":"1"}}`))
	f.Add([]byte(`payload=%7B%7D`))
	srv, err := slacktest.NewServer(slacktest.Options{HTTP: true})
	require.NoError(f, err)
	f.Cleanup(srv.Close)
	a, err := slack.New(slack.Config{BotToken: slacktest.BotToken, SigningSecret: slacktest.SigningSecret, Mode: slack.HTTP, APIBase: srv.URL(), Log: quiet()})
	require.NoError(f, err)
	f.Cleanup(a.Close)
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, kind := range []string{"application/json", "application/x-www-form-urlencoded"} {
			r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
			r.Header.Set("Content-Type", kind)
			slacktest.Sign(r, body, time.Now())
			w := httptest.NewRecorder()
			a.ServeCallback(w, r, newInbox())
			require.Equal(t, http.StatusOK, w.Code, "what Slack has signed is taken, or can never be")
		}
	})
}

// Who reads the log must not be able to answer in somebody's place.
func TestSecretsOfWhatCanNotBeReadStayOutOfTheLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := newSetup(t, slacktest.Options{HTTP: true}, func(c *slack.Config) {
		c.Mode, c.AppToken, c.Log = slack.HTTP, "", slog.New(slog.NewTextHandler(&log, nil))
	})
	const address, token, trigger = "hooks.slack.com/commands/T1/9/hidden", "verification-hidden", "trigger-hidden"
	s.serve(postedForm(url.Values{"command": {"/x"}, "response_url": {"https://" + address}, "token": {token}, "trigger_id": {trigger}}))
	s.serve(postedForm(url.Values{"payload": {`{"type":"block_actions","token":"` + token + `","response_url":"https:\/\/` + address +
		`","trigger_id": "` + trigger + `","actions":[{"type":"button"}]}`}}))
	s.serve(posted(`{"type":"event_callback","token":"` + token + `","event":{"type":"message","ts":5}}`))
	require.Equal(t, 3, strings.Count(log.String(), "malformed slack event"))
	require.NotContains(t, log.String(), "hidden")
	require.Contains(t, log.String(), "block_actions", "the rest is there")
}

// ending is an Acceptor whose store takes longer than Slack waits.
type ending struct{ begun, over chan struct{} }

func (e ending) Accept(ctx context.Context, _ adapters.Inbound) error {
	close(e.begun)
	<-e.over
	return ctx.Err()
}

// Slack gives an event four times, each time for three seconds: a slow store must get one of them done.
func TestSlackHangsUp(t *testing.T) {
	t.Parallel()
	s := httpSetup(t)
	ctx, hangUp := context.WithCancel(t.Context())
	e := ending{make(chan struct{}), make(chan struct{})}
	w := httptest.NewRecorder()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.adapter.ServeCallback(w, posted(message("hello", anyTS)).WithContext(ctx), e)
	}()
	<-e.begun
	hangUp()
	close(e.over)
	<-done
	require.Equal(t, http.StatusOK, w.Code, "it is stored all the same")
}

// untold is an Acceptor that goes on until its context ends, and tells why it did.
type untold struct {
	begun chan struct{}
	why   chan error
}

func (u untold) Accept(ctx context.Context, _ adapters.Inbound) error {
	close(u.begun)
	<-ctx.Done()
	u.why <- ctx.Err()
	return ctx.Err()
}

// A request goes on without its caller, but a gateway that stops must not wait for it.
func TestTheEndOfRunEndsWhatIsBeingTaken(t *testing.T) {
	t.Parallel()
	s := httpSetup(t)
	ctx, stop := context.WithCancel(t.Context())
	u := untold{make(chan struct{}), make(chan error, 1)}
	w := httptest.NewRecorder()
	var done sync.WaitGroup
	done.Go(func() { _ = s.adapter.Run(ctx, s.inbox) }) // nil: ctx ends
	done.Go(func() { s.adapter.ServeCallback(w, posted(message("hello", anyTS)), u) })
	<-u.begun
	stop()
	done.Wait()
	require.ErrorIs(t, <-u.why, context.Canceled, "it ended by its own limit")
	require.Equal(t, http.StatusServiceUnavailable, w.Code, "Slack gives it again")
	require.Equal(t, http.StatusOK, s.serve(posted(message("hello", anyTS))).Code, "the next request is taken")
}
