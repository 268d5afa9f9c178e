package slack_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/slack"
	"sluice/adapters/slack/slacktest"
	"sluice/sessions"
)

// elsewhere is a server that must not see the token.
func elsewhere(t *testing.T) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s was asked with %v", r.URL, r.Header)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func TestTheTokenGoesToSlackAlone(t *testing.T) {
	t.Parallel()
	s := writes(t)
	away := elsewhere(t)
	for _, ref := range []string{away + "/file", "https://slack.com.evil.example/x", "https://evilslack.com/x", "http://files.slack.com/x", "ftp://files.slack.com/x"} {
		_, err := s.adapter.Fetch(t.Context(), sessions.Attachment{Ref: ref})
		require.Equal(t, adapters.Permanent, adapters.AsFailure(err).Kind, ref)
		require.ErrorContains(t, err, "not a Slack host")
	}
}

// gate is an API that answers every download as it is told.
func gate(t *testing.T, answer http.HandlerFunc) *slack.Adapter {
	t.Helper()
	srv := httptest.NewServer(answer)
	t.Cleanup(srv.Close)
	a, err := slack.New(slack.Config{BotToken: "xoxb-1", AppToken: "xapp-1", APIBase: srv.URL, Log: quiet()})
	require.NoError(t, err)
	t.Cleanup(a.Close)
	return a
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	away := elsewhere(t)
	var base string
	a := gate(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, away+"/login", http.StatusFound) })
	base = a.Base()
	_, err := a.Fetch(t.Context(), sessions.Attachment{Ref: base + "file"})
	require.Equal(t, adapters.Permanent, adapters.AsFailure(err).Kind)
	require.ErrorContains(t, err, "the app lacks a permission")
}

func TestTheSignInPageIsNoFile(t *testing.T) {
	t.Parallel()
	page := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<html>sign in</html>")
	}
	a := gate(t, page)
	_, err := a.Fetch(t.Context(), sessions.Attachment{Ref: a.Base() + "file", MIME: "image/png"})
	require.ErrorContains(t, err, "missing_scope")
	body, err := a.Fetch(t.Context(), sessions.Attachment{Ref: a.Base() + "page", MIME: "text/html"})
	require.NoError(t, err, "a page that was sent as a file")
	require.NoError(t, body.Close())
}

func TestDownloadsFailByKind(t *testing.T) {
	t.Parallel()
	for status, kind := range map[int]adapters.Kind{404: adapters.Permanent, 403: adapters.Permanent, 429: adapters.RateLimited, 500: adapters.Transient} {
		a := gate(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		_, err := a.Fetch(t.Context(), sessions.Attachment{Ref: a.Base() + "file"})
		require.Equal(t, kind, adapters.AsFailure(err).Kind, status)
	}
}

func TestAFileThatSlackWithholdsIsAskedFor(t *testing.T) {
	t.Parallel()
	p := slacktest.StartPlatform(t, slacktest.Options{})
	p.Upload(p.Direct(), p.Person(0), "a.txt", "text/plain", []byte("content"))
	body, err := p.Adapter(t).(adapters.FileFetcher).Fetch(t.Context(), sessions.Attachment{Ref: p.LastFile()})
	require.NoError(t, err)
	got, err := io.ReadAll(body)
	require.NoError(t, err)
	require.NoError(t, body.Close())
	require.Equal(t, "content", string(got))
}

func TestFilesThatCantGoOut(t *testing.T) {
	t.Parallel()
	s := writes(t)
	_, err := s.adapter.SendFile(t.Context(), out(direct(1), ""), bytesFile("empty.txt", ""))
	require.Equal(t, adapters.Permanent, adapters.AsFailure(err).Kind)
	broken := bytesFile("a.txt", "content")
	broken.Open = func(context.Context) (io.ReadCloser, error) { return nil, errors.New("gone") }
	_, err = s.adapter.SendFile(t.Context(), out(direct(1), ""), broken)
	require.True(t, adapters.AsFailure(err).Certain, "nothing shows")
	short := bytesFile("a.txt", "content")
	short.Size += 10
	_, err = s.adapter.SendFile(t.Context(), out(direct(1), ""), short)
	require.True(t, adapters.AsFailure(err).Certain, "nothing shows")
	s.srv.Inject(slacktest.DropBefore().On("files.completeUploadExternal"))
	_, err = s.adapter.SendFile(t.Context(), out(direct(1), ""), bytesFile("a.txt", "content"))
	require.False(t, adapters.AsFailure(err).Certain)
	require.Empty(t, s.srv.Shown(slacktest.DirectID(1)))
}

// A file can't be shown to one person alone, and so not at all where the answer is private.
func TestFileOfPrivateAnswerIsRefused(t *testing.T) {
	t.Parallel()
	s := hearsCommand(t)
	route := s.inbox.wait(t, 1)[0].Route
	_, err := s.adapter.SendFile(t.Context(), out(route, ""), bytesFile("secret.txt", "content"))
	require.Equal(t, adapters.Unsupported, adapters.AsFailure(err).Kind)
	require.True(t, adapters.AsFailure(err).Certain)
	require.Zero(t, s.srv.Calls("files.completeUploadExternal"), "what only one shall see is never shown to all")
}
