package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFrames(t *testing.T) {
	t.Parallel()
	const stream = ": a comment\n\nid: 7\nevent: run.done\ndata: {\"a\":\ndata: 1}\nretry: 5\n\nevent:x\ndata:y\n\ndata: never ended\n"
	var got []frame
	require.NoError(t, frames(strings.NewReader(stream), func(f frame) error { got = append(got, f); return nil }))
	require.Equal(t, []frame{{"7", "run.done", "{\"a\":\n1}"}, {"", "x", "y"}}, got)

	stop := errors.New("stop")
	require.ErrorIs(t, frames(strings.NewReader(stream), func(frame) error { return stop }), stop)
	require.ErrorContains(t, frames(strings.NewReader(strings.Repeat("x", maxFrameBytes+1)), nil), "too long")
}

func FuzzFrames(f *testing.F) {
	f.Add("id: 1\nevent: a\ndata: b\n\n")
	f.Add("data\n\n\n:\r\n\x00")
	f.Fuzz(func(t *testing.T, stream string) {
		require.NoError(t, frames(strings.NewReader(stream), func(f frame) error {
			require.NotContains(t, f.event+f.id, "\n")
			return nil
		}))
	})
}

// stream answers every message with a stream.
func stream(header, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		if header != "" {
			w.Header().Set("X-Run-Id", header)
		}
		fmt.Fprint(w, text)
	}
}

func TestSayPassesOnTheEvents(t *testing.T) {
	t.Parallel()
	c, asked := serve(t, stream("run_1", "event: text.delta\ndata: {\"run\":\"run_1\",\"text\":\"hel\"}\n\n"+
		"event: x\ndata: {\"type\":\"run.done\",\"run\":\"run_1\",\"withheld\":{\"message\":\"no\",\"approval\":\"apr_1\"},\"buttons\":[{\"label\":\"Yes\",\"value\":\"/y\"}]}\n\n"))
	var got []Event
	require.NoError(t, c.Say(t.Context(), "agent:main:main", "hello", func(e Event) error { got = append(got, e); return nil }))
	require.Equal(t, []Event{
		{Run: "run_1"},
		{Type: "text.delta", Run: "run_1", Text: "hel"},
		{Type: "run.done", Run: "run_1", Withheld: &Withheld{Message: "no", Approval: "apr_1"}, Buttons: []Button{{"Yes", "/y"}}},
	}, got)
	r := (*asked)[0]
	require.Equal(t, "POST /v1/sessions/agent:main:main/messages", r.Method+" "+r.Path)
	require.Equal(t, "text/event-stream", r.Accept)
	require.JSONEq(t, `{"message":"hello"}`, r.Body)
}

func TestSayEndsWithAnError(t *testing.T) {
	t.Parallel()
	stop := errors.New("stop")
	c, _ := serve(t, stream("run_1", "event: a\ndata: {}\n\nevent: b\ndata: {}\n\n"))
	count := 0
	err := c.Say(t.Context(), "main", "hello", func(Event) error {
		if count++; count == 2 {
			return stop
		}
		return nil
	})
	require.ErrorIs(t, err, stop)
	require.Equal(t, 2, count)
	require.ErrorIs(t, c.Say(t.Context(), "main", "hello", func(Event) error { return stop }), stop, "the first event names the run")

	c, _ = serve(t, stream("", "event: broken\ndata: {\n\n"))
	require.ErrorContains(t, c.Say(t.Context(), "main", "hello", func(Event) error { return nil }), "read event broken: ")

	c, _ = serve(t, refuse(http.StatusConflict, `{"error":"busy","message":"the session is busy"}`))
	require.EqualError(t, c.Say(t.Context(), "main", "hello", nil), "the session is busy")
}

func TestStopRun(t *testing.T) {
	t.Parallel()
	c, asked := serve(t, answer(`{}`))
	require.NoError(t, c.StopRun(t.Context(), "a b", "run/1"))
	require.Equal(t, "POST /v1/sessions/a%20b/runs/run%2F1/cancel", (*asked)[0].Method+" "+(*asked)[0].Path)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, c.StopRun(ctx, "a", "b"), context.Canceled)
}
