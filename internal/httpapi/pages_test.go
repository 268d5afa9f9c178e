package httpapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi"
	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/store/sqlite"
	"sluice/store/sqlite/sqlitetest"
)

func metadata(size int) string { return `{"a":"` + strings.Repeat("x", size-len(`{"a":""}`)) + `"}` }

func largeBodies(c *httpapi.Config) { c.MaxBody = 1 << 20 }

func TestMetadataIsBounded(t *testing.T) {
	t.Parallel()
	g := withMain()
	h := newServer(t, g, largeBodies).Handler()
	fits, over := metadata(sessions.MetadataMax), metadata(sessions.MetadataMax+1)
	require.Equal(t, http.StatusCreated, call(h, "POST", "/v1/sessions", `{"metadata":`+fits+`}`).Code)
	require.Equal(t, http.StatusOK, call(h, "PATCH", "/v1/sessions/main", `{"metadata":`+fits+`}`).Code)
	for method, path := range map[string]string{"POST": "/v1/sessions", "PATCH": "/v1/sessions/main"} {
		w := call(h, method, path, `{"metadata":`+over+`}`)
		require.Equal(t, http.StatusRequestEntityTooLarge, w.Code, method)
		require.JSONEq(t, `{"error":"too_large","message":"metadata: it has 65537 bytes, but the limit is 65536; keep larger data in a file of the session"}`, w.Body.String())
	}
	require.Len(t, g.created, 1, "what is refused is not made")
}

// null is no metadata: the record has an object all the same.
func TestMetadataThatIsNull(t *testing.T) {
	t.Parallel()
	g := withMain()
	require.Equal(t, http.StatusCreated, call(serve(t, g), "POST", "/v1/sessions", `{"metadata":null}`, "authorization: bearer "+token).Code)
	require.Empty(t, g.created[0].Metadata)
}

// A page of a list ends with its bytes, says where it goes on, and all pages together have every session, also those of
// before metadata had a bound.
func TestListsArePagedByBytes(t *testing.T) {
	t.Parallel()
	const rows, size, most = 12, 300 << 10, 1<<20 + 400<<10
	db, err := sqlite.Open(t.Context(), sqlite.Config{Dir: sqlitetest.Dir(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	want := map[string]bool{}
	for i := range rows {
		r := sessions.Record{
			ID: sessions.NewID(), Key: sessions.Key(fmt.Sprintf("agent:main:http:%d", i)), Agent: "main", Taint: flow.Bottom(), Clearance: flow.Restricted,
			LastActivity: clock.Add(time.Duration(i/2) * time.Second), Metadata: json.RawMessage(metadata(size)),
		}
		want[string(r.ID)] = true
		require.NoError(t, db.CommitSession(t.Context(), sessions.Change{Create: []sessions.Record{r}}))
	}
	h := newServer(t, newGateway(), func(c *httpapi.Config) { useRows(c, db) }).Handler()
	path := "/v1/sessions?limit=9"
	for pages := 0; path != ""; pages++ {
		require.Less(t, pages, rows, "it ends")
		w := call(h, "GET", path, "")
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		require.Less(t, w.Body.Len(), most)
		var got []struct{ ID string }
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got), "it is a bare array")
		for _, row := range got {
			require.True(t, want[row.ID], "%s stands on two pages", row.ID)
			delete(want, row.ID)
		}
		path = ""
		if link := w.Header().Get("Link"); link != "" {
			var found bool
			path, found = strings.CutSuffix(strings.TrimPrefix(link, "<"), `>; rel="next"`)
			require.True(t, found, link)
			require.Contains(t, path, "limit=9", "the next page is asked for as this one was")
		}
	}
	require.Empty(t, want)
}

// pipes is a listener whose connections have no room: what the reader does not take, the writer waits with.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// dial sends a request and reads the beginning of its answer.
func (p *pipes) dial(t *testing.T, path string, first int) net.Conn {
	t.Helper()
	ours, theirs := net.Pipe()
	p.conns <- theirs
	_, err := io.WriteString(ours, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+token+"\r\n\r\n")
	require.NoError(t, err)
	_, err = io.ReadFull(ours, make([]byte, first))
	require.NoError(t, err)
	return ours
}

// Readers who take an answer slowly, or not at all, are cut off and counted; one who takes it steadily gets all of it.
func TestSlowReadersAreCutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		for i := range 20 {
			id := sessions.ID(fmt.Sprintf("sess_%012d", i))
			g.add(sessions.Record{ID: id, Key: sessions.Key("agent:main:" + string(id)), Agent: "main", Metadata: json.RawMessage(metadata(60 << 10))})
		}
		counted := prometheus.NewRegistry()
		s := newServer(t, g, func(c *httpapi.Config) { c.Registerer = counted })
		l := &pipes{make(chan net.Conn), make(chan struct{})}
		s.Start(l)
		begun := time.Now()
		ended := make(chan time.Duration)
		read := func(piece int, pause time.Duration) {
			conn := l.dial(t, "/v1/sessions", 4096)
			go func() {
				if pause > 0 {
					for {
						time.Sleep(pause)
						if _, err := io.ReadFull(conn, make([]byte, piece)); err != nil {
							break
						}
					}
				}
				_ = conn.SetReadDeadline(time.Now().Add(time.Hour))
				_, err := io.Copy(io.Discard, conn)
				if err != nil {
					t.Error("the connection is not closed:", err)
				}
				ended <- time.Since(begun)
			}()
		}
		for range 3 {
			read(100, 10*time.Second) // a little now and then
			read(16<<10, 15*time.Second)
		}
		for range 6 {
			require.Less(t, <-ended, 5*time.Minute)
		}
		families, err := counted.Gather()
		require.NoError(t, err)
		slow := 0.0
		for _, f := range families {
			if f.GetName() == "sluice_http_slow_readers_total" {
				slow = f.GetMetric()[0].GetCounter().GetValue()
			}
		}
		require.InDelta(t, 6, slow, 0)

		steady := l.dial(t, "/v1/sessions", 4096)
		taken := 4096
		for taken < 1<<20 {
			time.Sleep(time.Second)
			n, err := io.ReadFull(steady, make([]byte, 32<<10))
			require.NoError(t, err, "after %d bytes", taken)
			taken += n
		}
		require.NoError(t, steady.Close())
	})
}
