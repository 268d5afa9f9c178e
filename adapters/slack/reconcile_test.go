package slack_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/slack/slacktest"
	"sluice/sessions"
)

func TestALostMessageIsFoundFarBackAndInItsThread(t *testing.T) {
	t.Parallel()
	for _, thread := range []sessions.ThreadID{"", "1700000000.000100"} {
		s := writes(t)
		route := direct(1)
		route.Thread = thread
		sentAt := time.Now()
		lost := out(route, "hello")
		s.srv.Inject(slacktest.DropAfter())
		_, err := s.adapter.Send(t.Context(), lost)
		require.False(t, adapters.AsFailure(err).Certain)
		for i := range 450 { // more than two pages
			s.srv.Write(slacktest.Line{Channel: slacktest.DirectID(1), Thread: string(thread), User: ada, Text: fmt.Sprint(i)})
		}
		receipt, ok, err := s.adapter.Reconcile(t.Context(), lost, sentAt)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, s.srv.Shown(slacktest.DirectID(1))[0].TS, string(receipt.MessageID))

		lost.Part = 1
		_, ok, err = s.adapter.Reconcile(t.Context(), lost, sentAt)
		require.NoError(t, err)
		require.False(t, ok, "another part")
		_, ok, err = s.adapter.Reconcile(t.Context(), out(route, "hello"), time.Now().Add(time.Hour))
		require.NoError(t, err)
		require.False(t, ok, "what was before it was sent is not looked at")
	}
}

func TestALookThatFailsLeavesItOpen(t *testing.T) {
	t.Parallel()
	s := writes(t)
	for _, c := range []struct {
		kind  adapters.Kind
		fault *slacktest.Fault
	}{{adapters.Transient, slacktest.Status(503, "")}, {adapters.RateLimited, slacktest.RateLimit(7)}} {
		s.srv.Inject(c.fault.On("conversations.history"))
		_, ok, err := s.adapter.Reconcile(t.Context(), out(direct(1), "hello"), time.Now())
		require.False(t, ok)
		require.Equal(t, c.kind, adapters.AsFailure(err).Kind)
	}
	handle := direct(1)
	handle.Handle = s.srv.URL()
	_, _, err := s.adapter.Reconcile(t.Context(), out(handle, "hello"), time.Now())
	require.Equal(t, adapters.Unsupported, adapters.AsFailure(err).Kind)
}

func bytesFile(name, content string) adapters.File {
	return adapters.File{
		Name: name, MIME: "text/plain", Size: int64(len(content)),
		Open: func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader([]byte(content))), nil
		},
	}
}

func TestAFileWhoseAnswerWasLostIsFound(t *testing.T) {
	t.Parallel()
	s := writes(t)
	s.srv.Inject(slacktest.DropAfter().On("files.completeUploadExternal"))
	receipt, err := s.adapter.SendFile(t.Context(), out(direct(1), ""), bytesFile("a.txt", "one"))
	require.NoError(t, err, "the file itself tells that it was shared")
	require.Equal(t, s.srv.Shown(slacktest.DirectID(1))[0].TS, string(receipt.MessageID))

	between := time.Now()
	_, ok, err := s.adapter.Reconcile(t.Context(), out(direct(1), ""), between)
	require.NoError(t, err)
	require.False(t, ok, "the one before is another file")
	second, err := s.adapter.SendFile(t.Context(), out(direct(1), ""), bytesFile("b.txt", "two"))
	require.NoError(t, err)
	found, ok, err := s.adapter.Reconcile(t.Context(), out(direct(1), ""), between)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, second.MessageID, found.MessageID)
}
