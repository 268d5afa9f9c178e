package wire_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/model/wire"
	"sluice/sessions"
)

const secret = "sk-0123456789"

// record is an answer that keeps its events and ends at "END".
type record struct {
	events []string
	whole  bool
	ended  bool
	on     func()
}

var _ wire.Answer = (*record)(nil)

func (r *record) Event(name string, data []byte) (bool, error) {
	if r.on != nil {
		r.on()
	}
	r.events = append(r.events, name+"|"+string(data))
	r.ended = string(data) == "END"
	return r.ended, nil
}

func (r *record) Whole() bool { return r.whole }

// setup serves a handler and makes a client with short time-outs.
func setup(t *testing.T, idle time.Duration, handler http.HandlerFunc) (*wire.Client, *httptest.Server) {
	t.Helper()
	server := httptest.NewServer(handler)
	way := wire.NewTransport()
	t.Cleanup(func() { way.CloseIdleConnections(); server.Close() })
	return wire.NewClient(wire.Config{Transport: way, Model: "p/m", Secret: secret, FirstByte: 10 * time.Second, Idle: idle}), server
}

func sends(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, body)
	}
}

func fails(t *testing.T, err error, kind sessions.ModelErrorKind) {
	t.Helper()
	require.NotNil(t, failure(t, err, kind))
}

func failure(t *testing.T, err error, kind sessions.ModelErrorKind) *sessions.ModelError {
	t.Helper()
	var me *sessions.ModelError
	require.ErrorAs(t, err, &me)
	require.Equal(t, kind, me.Kind, "%v", err)
	require.NotContains(t, err.Error(), secret)
	return me
}

func TestEventsAreRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		want []string
	}{
		"named":                {"event: a\ndata: 1\n\ndata: END\n\n", []string{"a|1", "|END"}},
		"two lines of data":    {"data: 1\ndata: 2\n\ndata: END\n\n", []string{"|1\n2", "|END"}},
		"CRLF and no space":    {"data:1\r\n\r\ndata:END\r\n\r\n", []string{"|1", "|END"}},
		"comments":             {": ping\n\n: ping\ndata: END\n\n", []string{"|END"}},
		"a name without data":  {"event: a\n\ndata: END\n\n", []string{"|END"}},
		"no empty line at end": {"data: 1\n\ndata: END", []string{"|1", "|END"}},
		"longer than buffers":  {"data: " + strings.Repeat("x", 100_000) + "\n\ndata: END\n\n", []string{"|" + strings.Repeat("x", 100_000), "|END"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, server := setup(t, time.Second, sends(c.body))
			var got record
			require.NoError(t, client.Stream(t.Context(), server.URL, nil, one, &got))
			require.Equal(t, c.want, got.events)
		})
	}
}

func TestAnEndWithoutItsMarkerIsACut(t *testing.T) {
	t.Parallel()
	client, server := setup(t, time.Second, sends("data: 1\n\n"))
	fails(t, client.Stream(t.Context(), server.URL, nil, one, &record{}), sessions.ModelCut)
	require.NoError(t, client.Stream(t.Context(), server.URL, nil, one, &record{whole: true}), "what is whole needs no marker")
}

func TestResponsesAreBounded(t *testing.T) {
	t.Parallel()
	endless := func(piece string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for {
				if _, err := io.WriteString(w, piece); err != nil {
					return
				}
			}
		}
	}
	for name, piece := range map[string]string{
		"one line":  strings.Repeat("x", 64<<10),
		"one event": "data: " + strings.Repeat("x", 64<<10) + "\n",
		"comments":  ": " + strings.Repeat("x", 64<<10) + "\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, server := setup(t, 10*time.Second, endless(piece))
			fails(t, client.Stream(t.Context(), server.URL, nil, one, &record{}), sessions.ModelRefused)
		})
	}
}

func TestTheCallersEndIsFoundWithItsCause(t *testing.T) {
	t.Parallel()
	client, server := setup(t, 10*time.Second, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	stopped := errors.New("the user said stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(10*time.Millisecond, func() { cancel(stopped) })
	err := client.Stream(ctx, server.URL, nil, one, &record{})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, stopped)
}

func TestSilenceIsNoCancel(t *testing.T) {
	t.Parallel()
	client, server := setup(t, 20*time.Millisecond, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		sends("data: 1\n\n")(w, r)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	err := client.Stream(t.Context(), server.URL, nil, one, &record{})
	fails(t, err, sessions.ModelUnavailable)
	require.NotErrorIs(t, err, context.Canceled)
}

// pipe is a transport whose response is what a test writes; it breaks off with the request's context.
type pipe struct{ *io.PipeReader }

func (p pipe) RoundTrip(r *http.Request) (*http.Response, error) {
	context.AfterFunc(r.Context(), func() { _ = p.CloseWithError(r.Context().Err()) })
	return &http.Response{StatusCode: http.StatusOK, Request: r, Body: p}, nil
}

func TestASlowReaderIsNoStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const idle = time.Second
		in, out := io.Pipe()
		client := wire.NewClient(wire.Config{Transport: pipe{in}, Model: "p/m", Idle: idle})
		go func() {
			_, _ = io.WriteString(out, "data: 1\n\n")
			_, _ = io.WriteString(out, "data: END\n\n")
			_ = out.Close()
		}()
		slow := &record{on: func() { time.Sleep(5 * idle) }}
		require.NoError(t, client.Stream(t.Context(), "http://provider", nil, one, slow))
		require.Len(t, slow.events, 2)
	})
}

func TestARedirectDoesNotCarryTheKeyAway(t *testing.T) {
	t.Parallel()
	var reached atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	t.Cleanup(other.Close)
	client, server := setup(t, time.Second, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	fails(t, client.Stream(t.Context(), server.URL, http.Header{"X-Api-Key": {secret}}, one, &record{}), sessions.ModelRefused)
	require.False(t, reached.Load())
}

func TestErrorsAreShortAndWithoutTheKey(t *testing.T) {
	t.Parallel()
	client, server := setup(t, time.Second, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":{"type":"auth","message":"no such key: `+secret+`"}}`)
	})
	me := failure(t, client.Stream(t.Context(), server.URL, nil, one, &record{}), sessions.ModelAuth)
	require.EqualError(t, me.Err, "HTTP 401: auth: no such key: <secret>")
}

func TestOneDocumentIsNoStream(t *testing.T) {
	t.Parallel()
	client, server := setup(t, time.Second, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[]}`)
	})
	fails(t, client.Stream(t.Context(), server.URL, nil, one, &record{}), sessions.ModelRefused)
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{
		"30": 30 * time.Second, "1.5": 1500 * time.Millisecond, "": 0, "-1": 0, "NaN": 0, "soon": 0,
		"1e300": 24 * time.Hour, "Inf": 24 * time.Hour,
	} {
		client, server := setup(t, time.Second, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", value)
			w.WriteHeader(http.StatusTooManyRequests)
		})
		me := failure(t, client.Stream(t.Context(), server.URL, nil, one, &record{}), sessions.ModelRateLimited)
		require.Equal(t, want, me.RetryAfter, value)
	}
	client, server := setup(t, time.Second, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", time.Now().Add(time.Minute).UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusTooManyRequests)
	})
	me := failure(t, client.Stream(t.Context(), server.URL, nil, one, &record{}), sessions.ModelRateLimited)
	require.InDelta(t, time.Minute, me.RetryAfter, float64(10*time.Second))
}

func TestAConnectionIsUsedAgain(t *testing.T) {
	t.Parallel()
	var opened atomic.Int32
	read := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sends("data: END\n\n")(w, r)
		_ = http.NewResponseController(w).Flush()
		<-read // the end of the response comes apart from its last event
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	own := wire.NewTransport()
	t.Cleanup(func() { own.CloseIdleConnections(); server.Close() })
	client := wire.NewClient(wire.Config{Transport: own, Model: "p/m"})
	for range 10 {
		require.NoError(t, client.Stream(t.Context(), server.URL, nil, one, &record{on: func() { read <- struct{}{} }}))
	}
	require.EqualValues(t, 1, opened.Load())
}

func TestArgsAreAnObject(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": `{}`, " ": `{}`, `{"a":1}`: `{"a":1}`, `{"a":`: `{"_raw":"{\"a\":"}`, `[1]`: `{"_raw":"[1]"}`, "null": `{"_raw":"null"}`, "\xff": `{"_raw":"\ufffd"}`,
	} {
		require.JSONEq(t, want, string(wire.Args(text)), text)
	}
}
