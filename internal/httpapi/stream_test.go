package httpapi_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi"
	"sluice/internal/httpapi/operator"
	"sluice/router/inbound"
	"sluice/router/ledger"
	"sluice/sessions"
)

// wires is a listener whose connections are in memory, so that their deadlines are of the test's own time.
type wires struct {
	made   chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newWires() *wires { return &wires{made: make(chan net.Conn), closed: make(chan struct{})} }

func (w *wires) Accept() (net.Conn, error) {
	select {
	case c := <-w.made:
		return c, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

func (w *wires) Close() error   { w.once.Do(func() { close(w.closed) }); return nil }
func (w *wires) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8484} }

// dial connects and sends a request that bears the token.
func (w *wires) dial(t *testing.T, method, path, body string) net.Conn {
	t.Helper()
	ours, theirs := net.Pipe()
	select {
	case w.made <- theirs:
	case <-w.closed:
		require.Fail(t, "the listener is closed")
	}
	r, err := http.NewRequestWithContext(t.Context(), method, "http://127.0.0.1:8484"+path, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Accept", "text/event-stream")
	require.NoError(t, r.Write(ours))
	t.Cleanup(func() { _ = ours.Close() })
	return ours
}

// answer reads the head of an answer; its body comes as it is read.
func answer(t *testing.T, c net.Conn) *http.Response {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = errors.Join(c.Close(), resp.Body.Close()) }) // in this order: closing a body reads it to its end
	return resp
}

// started is a server that listens on wires.
func started(t *testing.T, g *gateway, settings ...func(*httpapi.Config)) (*httpapi.Server, *wires) {
	t.Helper()
	s, w := newServer(t, g, settings...), newWires()
	s.Start(w)
	return s, w
}

// A stream on which nothing happens stays open, and says so often enough for every proxy.
func TestQuietStreamLives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := withMain()
		_, w := started(t, g)
		began := time.Now()
		lines := bufio.NewScanner(answer(t, w.dial(t, "GET", "/v1/sessions/main/events", "")).Body)
		for beats := 0; beats < 20; {
			require.True(t, lines.Scan(), "the stream ended after %s", time.Since(began))
			if strings.HasPrefix(lines.Text(), ":") {
				beats++
			}
		}
		require.LessOrEqual(t, time.Since(began), 20*15*time.Second)
		g.live <- sessions.Event{Seq: 1, Type: sessions.EventNotice, Text: "hello"}
		for lines.Scan() && lines.Text() != "id: 1" {
			require.NotContains(t, lines.Text(), "event:")
		}
		require.Equal(t, "id: 1", lines.Text())
	})
}

// A turn's stream asks the run's row, in case the bus has lost the end.
func TestTurnEndsWithoutTheBus(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := withMain()
		run := sessions.Run{ID: "run_1", Session: mainID, Status: sessions.RunRunning}
		g.runs["run_1"], g.admitted = run, inbound.Admitted{Outcome: ledger.OutcomeRun, Run: "run_1"}
		_, w := started(t, g)
		body := answer(t, w.dial(t, "POST", "/v1/sessions/main/messages", `{"message":"2+2"}`)).Body
		time.AfterFunc(2*time.Minute, func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			run.Status, run.Reply = sessions.RunDone, "four"
			g.runs["run_1"] = run
		})
		began := time.Now()
		text, err := io.ReadAll(body)
		require.NoError(t, err)
		require.Contains(t, string(text), "event: run.done\n")
		require.Contains(t, string(text), `"text":"four"`)
		require.LessOrEqual(t, time.Since(began), 2*time.Minute+5*time.Second)
	})
}

// A turn's stream shows all events of a run that has ended before the first of them arrives.
func TestEventsOfAQuickRunAreShown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := withMain()
		g.runs["run_1"] = sessions.Run{ID: "run_1", Session: mainID, Status: sessions.RunDone, Reply: "four"}
		g.admitted = inbound.Admitted{Outcome: ledger.OutcomeRun, Run: "run_1"}
		_, w := started(t, g)
		body := answer(t, w.dial(t, "POST", "/v1/sessions/main/messages", `{"message":"2+2"}`)).Body
		time.AfterFunc(time.Second/2, func() {
			g.live <- sessions.Event{Seq: 1, Run: "run_1", Type: sessions.EventStarted}
			g.live <- sessions.Event{Seq: 2, Run: "run_1", Type: sessions.EventDelta, Text: "four"}
			g.live <- sessions.Event{Seq: 3, Run: "run_1", Type: sessions.EventDone, Text: "four"}
		})
		text, err := io.ReadAll(body)
		require.NoError(t, err)
		require.Regexp(t, `(?s)id: 1\nevent: run.started\n.*id: 2\nevent: text.delta\n.*id: 3\nevent: run.done\n`, string(text))
	})
}

// A repeated turn whose run has ended is answered at once.
func TestEndOfARepeatedTurnIsShownAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := withMain()
		g.runs["run_1"] = sessions.Run{ID: "run_1", Session: mainID, Status: sessions.RunDone, Reply: "four"}
		g.admitted = inbound.Admitted{Outcome: ledger.OutcomeRun, Run: "run_1", Repeat: true}
		_, w := started(t, g)
		began := time.Now()
		text, err := io.ReadAll(answer(t, w.dial(t, "POST", "/v1/sessions/main/messages", `{"message":"2+2"}`)).Body)
		require.NoError(t, err)
		require.Contains(t, string(text), "event: run.done\n")
		require.Zero(t, time.Since(began))
	})
}

// A reader that takes nothing is cut off: it holds no goroutine for ever.
func TestSlowReaderIsCutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := withMain()
		_, w := started(t, g)
		c := w.dial(t, "GET", "/v1/sessions/main/events", "")
		answer(t, c) // the head, and nothing behind it
		began := time.Now()
		<-(<-g.follower).Done()
		require.LessOrEqual(t, time.Since(began), 40*time.Second)
		_, err := io.Copy(io.Discard, c)
		require.NoError(t, err, "the connection is closed")
	})
}

func TestSlowBodyIsCutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, w := started(t, withMain())
		ours, theirs := net.Pipe()
		w.made <- theirs
		t.Cleanup(func() { _ = ours.Close() })
		_, err := io.WriteString(ours, "POST /v1/sessions/main/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer "+token+"\r\nContent-Length: 100\r\n\r\n{")
		require.NoError(t, err)
		began := time.Now()
		require.Equal(t, http.StatusBadRequest, answer(t, ours).StatusCode)
		require.LessOrEqual(t, time.Since(began), 2*time.Minute)
	})
}

// Streams end with the server; requests in progress are answered first.
func TestStopEndsStreamsAndLetsRequestsFinish(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := withMain()
		busy := make(chan struct{})
		s, w := started(t, g, func(c *httpapi.Config) {
			c.Parts = func(context.Context) []operator.Health { <-busy; return nil }
		})
		events := answer(t, w.dial(t, "GET", "/v1/sessions/main/events", ""))
		slow := w.dial(t, "GET", "/v1/status", "")
		synctest.Wait()
		stopped := make(chan error, 1)
		go func() { stopped <- s.Stop(t.Context()) }()
		_, err := io.ReadAll(events.Body)
		require.NoError(t, err, "the stream is ended, not torn")
		synctest.Wait()
		require.Empty(t, stopped, "a request is under way")
		close(busy)
		require.Equal(t, http.StatusOK, answer(t, slow).StatusCode)
		require.NoError(t, <-stopped)
	})
}

// What does not finish in time is cut off, and Stop says so.
func TestStopDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		busy := make(chan struct{})
		s, w := started(t, newGateway(), func(c *httpapi.Config) {
			c.Parts = func(context.Context) []operator.Health { <-busy; return nil }
		})
		slow := w.dial(t, "GET", "/v1/status", "")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		require.ErrorIs(t, s.Stop(ctx), context.DeadlineExceeded)
		require.Equal(t, 10*time.Second, time.Since(began))
		_, err := io.ReadAll(slow)
		require.True(t, err == nil || errors.Is(err, io.ErrClosedPipe), err)
		close(busy)
	})
}
