package httpapi_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi"
	"sluice/policy/flow"
	"sluice/sessions"
)

// everything is what happens in all sessions, and the marks of lists by level.
type everything struct {
	events chan sessions.Event

	mu    sync.Mutex
	after uint64
	marks map[flow.Level]uint64
}

func (e *everything) mark(level flow.Level, n uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.marks[level] = n
}

// resumed is the number after which the last follower wants events.
func (e *everything) resumed() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.after
}

// FollowAll implements [live.Events].
func (e *everything) FollowAll(_ context.Context, after uint64) (<-chan sessions.Event, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.after = after
	return e.events, nil
}

// Marks implements [live.Rows].
func (e *everything) Marks(_ context.Context, most flow.Level) (map[string]uint64, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return map[string]uint64{"runs": e.marks[most]}, nil
}

func (e *everything) use(c *httpapi.Config) { c.Gateway.Live, c.Rows.Live = e, e }

// shows reads a stream until a text comes, and gives all that was read.
func shows(t *testing.T, lines *bufio.Scanner, text string) string {
	t.Helper()
	var read strings.Builder
	for lines.Scan() {
		read.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), text) {
			return read.String()
		}
	}
	require.Fail(t, "the stream has ended", read.String())
	return ""
}

// The stream of a page shows the events and changed lists up to the level of its reader, texts only of the sessions that it names, and
// goes on where it has ended.
func TestTheStreamOfAPage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &everything{events: make(chan sessions.Event), marks: map[flow.Level]uint64{}}
		_, w := started(t, withMain(), forInternal, e.use)
		lines := bufio.NewScanner(answer(t, w.dial(t, "GET", "/v1/stream", "")).Body)
		require.NotContains(t, shows(t, lines, `{"level":"INTERNAL","resumed":false}`), "changed")
		tell := func(seq uint64, kind sessions.EventType, text string, label flow.Label) {
			e.events <- sessions.Event{Session: mainID, Seq: seq, Type: kind, Text: text, Label: label}
		}
		tell(1, sessions.EventNotice, "secret", at(flow.Confidential))
		tell(2, sessions.EventNotice, "without a label is secret", flow.Label{})
		tell(3, sessions.EventDelta, "half a sentence", at(flow.Public))
		go tell(4, sessions.EventNotice, "hello", at(flow.Internal))
		text := shows(t, lines, `"text":"hello"`)
		require.NotContains(t, text, "secret")
		require.NotContains(t, text, "half a sentence")
		require.NotContains(t, text, `"seq"`, "the numbers of events count what happens above")
		id := strings.TrimPrefix(text[strings.LastIndex(text, "id: "):], "id: ")
		id, _, _ = strings.Cut(id, "\n")

		e.mark(flow.Restricted, 7)
		time.Sleep(5 * time.Second)
		e.mark(flow.Internal, 1)
		require.Equal(t, 1, strings.Count(shows(t, lines, `{"kinds":["runs"]}`), "kinds"), "what changes above is not told")

		again := bufio.NewScanner(answer(t, w.dial(t, "GET", "/v1/stream?sessions="+string(mainID)+"&after="+id, "")).Body)
		shows(t, again, `"resumed":true`)
		require.Equal(t, uint64(4), e.resumed())
		shows(t, again, `{"kinds":["runs"]}`)
	})
}

// A stream that can't begin says why.
func TestAStreamOfAPageThatCantBegin(t *testing.T) {
	t.Parallel()
	e := &everything{events: make(chan sessions.Event)}
	h := newServer(t, withMain(), e.use).Handler()
	require.Equal(t, http.StatusBadRequest, call(h, "GET", "/v1/stream?after=12", "").Code)
	require.Equal(t, http.StatusBadRequest, call(h, "GET", "/v1/stream?sessions="+strings.Repeat("a,", 21), "").Code)
	require.Equal(t, http.StatusUnauthorized, call(h, "GET", "/v1/stream", "", "Authorization: ").Code)
}
