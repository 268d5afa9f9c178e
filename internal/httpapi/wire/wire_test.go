package wire_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/humatest"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi/wire"
)

// Who reads the log, to follow it, adds nothing to it.
func TestReadingTheLogWritesNoLine(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	status := http.StatusOK
	h := wire.Count(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }), prometheus.NewRegistry(),
		slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{Level: slog.LevelDebug})))
	read := func(path string) {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	}
	read(wire.LogPath + "?level=debug")
	require.Empty(t, lines.String())
	read("/v1/status")
	require.Contains(t, lines.String(), "path=/v1/status")
	status = http.StatusForbidden
	read(wire.LogPath)
	require.Contains(t, lines.String(), "path=/v1/logs status=403")
}

// deadlines is a writer whose connection remembers its last read deadline.
type deadlines struct {
	*httptest.ResponseRecorder
	last time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.last = at
	return nil
}

// A large file on a slow line arrives. A body that comes more slowly than any line does not hold its request for long.
func TestABodyEarnsTimeAsItArrives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		begun := time.Now()
		body := wire.LimitBody(w, httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/", strings.NewReader(strings.Repeat("x", 64<<10))), 1<<20)
		require.Equal(t, begun.Add(wire.BodyTimeout), w.last)
		for i := range 4 {
			time.Sleep(wire.BodyTimeout / 3)
			_, err := io.ReadFull(body, make([]byte, 16<<10))
			require.NoError(t, err)
			require.Equal(t, begun.Add(wire.BodyTimeout+time.Duration(i)*time.Second), w.last)
		}
		_, err := body.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
		require.Zero(t, w.last)

		body = wire.LimitBody(w, httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/", strings.NewReader(strings.Repeat("x", 4<<20))), 8<<20)
		time.Sleep(time.Second)
		_, err = io.ReadFull(body, make([]byte, 3<<20))
		require.NoError(t, err)
		time.Sleep(time.Second)
		_, err = io.ReadFull(body, make([]byte, 1<<10))
		require.NoError(t, err)
		require.Equal(t, time.Now().Add(wire.BodyTimeout), w.last, "what came fast is no reason to wait long for the rest")
	})
}

func TestCursorsHideNumbers(t *testing.T) {
	t.Parallel()
	c := wire.NewCursors([32]byte{1})
	name := c.Seal("sess_1", 7)
	require.NotContains(t, name, "7"+strings.Repeat("0", 8))
	got, ok := c.Open("sess_1", name)
	require.True(t, ok)
	require.Equal(t, uint64(7), got)
	got, ok = c.Open("sess_2", name)
	require.True(t, ok, "a cursor of another session means from now on")
	require.Zero(t, got)
	_, ok = wire.NewCursors([32]byte{2}).Open("sess_1", "7")
	require.False(t, ok)

	const entry = "1777222996-0123456789abcdef"
	require.Equal(t, entry, c.OpenEntry(c.SealEntry(entry)))
	require.Empty(t, c.SealEntry("no entry"))
	require.Equal(t, "0-", c.OpenEntry("no cursor"))
}

func TestForeignTextBecomesPrintable(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "plain": "plain", "a\nb\x00c\x7f": "a?b?c?", "é": "?", strings.Repeat("x", 101): strings.Repeat("x", 100),
	} {
		require.Equal(t, want, wire.Printable(in))
	}
}

func TestLibraryErrorsBecomePlain(t *testing.T) {
	t.Parallel()
	for want, model := range map[string]*huma.ErrorModel{
		`invalid_request: text: too long; limit: too small`: {Status: 422, Errors: []*huma.ErrorDetail{{Location: "body.text", Message: "too long"}, {Location: "query.limit", Message: "too small"}}},
		`invalid_request: bad`:                              {Status: 400, Detail: "bad"},
		`unsupported_media_type: unknown; send the header Content-Type: application/json`: {Status: http.StatusUnsupportedMediaType, Detail: "unknown"},
		`internal: failed`:           {Status: 502, Detail: "failed"},
		`too_large: body`:            {Status: http.StatusRequestEntityTooLarge, Detail: "body"},
		`method_not_allowed: method`: {Status: http.StatusMethodNotAllowed, Detail: "method"},
	} {
		answer := httptest.NewRecorder()
		got, err := wire.PlainErrors(humatest.NewContext(nil, httptest.NewRequest(http.MethodGet, "/", nil), answer), "", model)
		require.NoError(t, err)
		e, ok := got.(*wire.Error)
		require.True(t, ok)
		require.Equal(t, want, e.Code+": "+e.Message)
		require.Equal(t, model.Status, e.GetStatus())
		require.Equal(t, "application/json", answer.Header().Get("Content-Type"))
	}
	same, err := wire.PlainErrors(nil, "", "a body")
	require.NoError(t, err)
	require.Equal(t, "a body", same)
}

func TestOwnHosts(t *testing.T) {
	t.Parallel()
	configured := []string{"Gateway.example"}
	for host, own := range map[string]bool{
		"127.0.0.1:8484": true, "[::1]:8484": true, "[::1]": true, "::1": true, "localhost": true, "LOCALHOST:1": true, "10.1.2.3": true,
		"gateway.example": true, "gateway.example.:443": true, "evil.example": false, "": false, "localhost.evil.example": false,
	} {
		require.Equal(t, own, wire.OwnHost(host, configured), host)
	}
}
