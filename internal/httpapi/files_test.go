package httpapi_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi"
	"sluice/internal/httpapi/auth"
	"sluice/internal/workspace"
	"sluice/policy/flow"
	"sluice/sessions"
)

func TestFilesOfASession(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	folder := filepath.Join(state, "session")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "private"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "private/key"), []byte("k"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(state, "token"), []byte("t"), 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "docs"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "docs/a.html"), []byte("<script>"), 0o600))
	require.NoError(t, os.Symlink("../../token", filepath.Join(folder, "docs/link")))
	own := t.TempDir()
	g := newGateway()
	g.add(sessions.Record{ID: "sess_1", Key: "agent:main:http:sess_1", FileAccess: sessions.FileAccess{Read: []string{"docs"}, Write: []string{"out"}}})
	g.add(sessions.Record{ID: "sess_2", Key: "agent:bare:main"})
	h := newServer(t, g, func(c *httpapi.Config) {
		c.Files.Space = func(r sessions.Record) (workspace.Space, error) {
			if r.ID != "sess_1" {
				return workspace.Space{}, nil
			}
			return workspace.Space{Session: r.ID, Own: own, Shared: folder, Access: r.FileAccess}, nil
		}
	}).Handler()
	const files = "/v1/sessions/sess_1/files/"

	w := call(h, "GET", files+"docs/a.html", "")
	require.Equal(t, 200, w.Code, w.Body)
	require.Equal(t, "<script>", w.Body.String())
	require.Equal(t, "application/octet-stream", w.Header().Get("Content-Type"), "never a page of the gateway's own")
	require.Equal(t, "attachment", w.Header().Get("Content-Disposition"))
	w = call(h, "GET", files+"docs", "")
	require.JSONEq(t, `{"truncated":false,"entries":[{"path":"docs/a.html","type":"file","size":8},{"path":"docs/link","type":"link","size":0}]}`, w.Body.String())
	require.JSONEq(t, `{"truncated":false,"entries":[{"path":".sessions/sess_1","type":"folder","size":0},{"path":"docs","type":"folder","size":0}]}`, call(h, "GET", files, "").Body.String())

	w = call(h, "PUT", files+"out/b/c.bin", "a\x00b", "Content-Type: application/octet-stream")
	require.Equal(t, 201, w.Code, w.Body)
	require.Regexp(t, `^\{"path":"out/b/c.bin","size":3,"modified":[0-9.e+]+,"created":true\}`, w.Body.String())
	require.Equal(t, 200, call(h, "PUT", files+"out/b/c.bin", "x").Code)
	cut := httptest.NewRequestWithContext(t.Context(), http.MethodPut, "http://127.0.0.1:8484"+files+"out/b/c.bin", io.MultiReader(strings.NewReader("yy"), iotest.ErrReader(io.ErrUnexpectedEOF)))
	cut.Header.Set("Authorization", "Bearer "+token)
	w = httptest.NewRecorder()
	h.ServeHTTP(w, cut)
	require.Equal(t, 400, w.Code, "the client has gone, or its line is too slow")
	require.Contains(t, w.Body.String(), "did not arrive completely")
	require.Equal(t, "x", call(h, "GET", files+"out/b/c.bin", "").Body.String())
	require.Equal(t, 409, call(h, "DELETE", files+"out/b", "").Code, "a folder that is not empty")
	require.Equal(t, 204, call(h, "DELETE", files+"out/b/c.bin", "").Code)
	require.Equal(t, 404, call(h, "DELETE", files+"out/b/c.bin", "").Code)
	w = call(h, "PUT", files+"out/"+strings.Repeat("x", 300), "x")
	require.Equal(t, 400, w.Code)
	require.Contains(t, w.Body.String(), "a name in the path is too long")
	require.Equal(t, 404, call(h, "PUT", files+"private/"+strings.Repeat("x", 300), "x").Code)
	require.Equal(t, 409, call(h, "PUT", files+"out/b", "x").Code)

	for _, request := range []string{
		"GET private/key", "GET docs/link", "GET docs/none", "GET %2e%2e%2ftoken", "GET docs/%2e%2e/%2e%2e/token", "GET %2fetc%2fpasswd",
		"GET ../../../token", "GET docs/../private/key", "GET ./docs/a.html", "GET docs/..", "PUT out/../new", "DELETE out/../docs/a.html",
		"PUT docs/a.html", "PUT private/key", "PUT new", "PUT out/%2e%2e/new", "DELETE docs/a.html", "DELETE private/key",
	} {
		method, path, _ := strings.Cut(request, " ")
		require.Equal(t, 404, call(h, method, files+path, "").Code, request)
	}
	require.Equal(t, 404, call(h, "GET", "/v1/sessions/none/files/docs", "").Code)
	require.Equal(t, 404, call(h, "GET", "/v1/sessions/sess_2/files/docs", "").Code, "its agent has no workspace")
	require.Equal(t, 401, call(h, "GET", files+"docs/a.html", "", "Authorization: Bearer wrong").Code)
	require.Equal(t, 422, call(h, "GET", files+"docs?deep=1", "").Code)
	require.Equal(t, 201, call(h, "PUT", files+"out/large", strings.Repeat("x", 5000)).Code, "more than other requests bring")
}

// Files are written and read as streams; versions have tags, which a writer can insist on.
func TestFilesAreStreamed(t *testing.T) {
	t.Parallel()
	folder, g := t.TempDir(), newGateway()
	g.add(sessions.Record{ID: "sess_1", Key: "agent:main:http:sess_1"})
	h := newServer(t, g, func(c *httpapi.Config) {
		c.Files.Space = func(r sessions.Record) (workspace.Space, error) {
			return workspace.Space{Session: r.ID, Own: folder}, nil
		}
	}).Handler()
	const file = "/v1/sessions/sess_1/files/a"
	w := call(h, "PUT", file, "0123456789", "If-None-Match: *")
	require.Equal(t, 201, w.Code, w.Body)
	first := w.Header().Get("ETag")
	require.NotEmpty(t, first)
	require.Equal(t, 412, call(h, "PUT", file, "x", "If-None-Match: *").Code)
	w = call(h, "GET", file, "", "Range: bytes=2-4")
	require.Equal(t, []any{206, "234", "bytes 2-4/10", first}, []any{w.Code, w.Body.String(), w.Header().Get("Content-Range"), w.Header().Get("ETag")})
	require.Equal(t, "89", call(h, "GET", file, "", "Range: bytes=-2").Body.String())
	require.Equal(t, 416, call(h, "GET", file, "", "Range: bytes=10-").Code)
	require.Equal(t, 304, call(h, "GET", file, "", "If-None-Match: "+first).Code)

	w = call(h, "PUT", file, "new", `If-Match: "other", `+first)
	require.Equal(t, 200, w.Code, w.Body)
	second := w.Header().Get("ETag")
	require.NotEqual(t, first, second)
	for _, version := range []string{first, `"x"`, "W/" + second} {
		require.Equal(t, 412, call(h, "PUT", file, "lost", "If-Match: "+version).Code, version)
		require.Equal(t, 412, call(h, "DELETE", file, "", "If-Match: "+version).Code, version)
	}
	require.Equal(t, "new", call(h, "GET", file, "", "Range: bytes=0-1", "If-Range: "+first).Body.String(), "of another version the whole is given")
	require.Equal(t, 412, call(h, "PUT", file+"b", "x", "If-Match: *").Code)
	require.Equal(t, 204, call(h, "DELETE", file, "", "If-Match: "+second).Code)
	require.Equal(t, 412, call(h, "DELETE", file, "", "If-Match: "+second).Code)
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, left, "no draft is left")
}

// A file that others than the owner bring, or take away, makes what the session reads then untrusted, and that is stored
// before the file is.
func TestWhoHasChangedAFileIsKnownToItsSession(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ token, method, query, want string }{
		"the owner's":             {token, "PUT", "", "PUBLIC/trusted"},
		"the owner's, of others":  {token, "PUT", "?label=PUBLIC/untrusted", "PUBLIC/untrusted"},
		"a program's":             {"ops", "PUT", "", "PUBLIC/untrusted"},
		"a program's, it says":    {"ops", "PUT", "?label=PUBLIC/trusted", "PUBLIC/untrusted"},
		"taken away by a program": {"ops", "DELETE", "", "PUBLIC/untrusted"},
		"read by a program":       {"ops", "GET", "", "PUBLIC/trusted"},
		"above the session":       {token, "PUT", "?label=INTERNAL/untrusted", "PUBLIC/trusted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(folder, "a"), []byte("old"), 0o600))
			g := withMain()
			h := newServer(t, g, withTokens(auth.Credential{Name: "ops", Token: "ops", Level: flow.Public, Role: auth.RoleOperator}), func(cfg *httpapi.Config) {
				cfg.Files.Space = func(r sessions.Record) (workspace.Space, error) {
					return workspace.Space{Session: r.ID, Own: folder}, nil
				}
			}).Handler()
			ask := func() int {
				return call(h, c.method, "/v1/sessions/main/files/a"+c.query, "new", "Authorization: Bearer "+c.token).Code
			}
			g.breakStore(errors.New("the disk is full"))
			ask()
			content, err := os.ReadFile(filepath.Join(folder, "a"))
			require.NoError(t, err)
			require.Equal(t, "old", string(content), "nothing is written before the session knows")
			g.breakStore(nil)
			ask()
			require.Equal(t, c.want, g.records[string(mainID)].Taint.String())
		})
	}
}

// The names that others than the owner give a session are shown to other sessions: they are untrusted as words are. The session itself
// has learnt nothing by them.
func TestANameHasTheLabelOfWhoGaveIt(t *testing.T) {
	t.Parallel()
	for bearer, want := range map[string]string{token: "PUBLIC/trusted", "ops": "PUBLIC/untrusted"} {
		g := withMain()
		h := newServer(t, g, withTokens(auth.Credential{Name: "ops", Token: "ops", Level: flow.Public, Role: auth.RoleOperator})).Handler()
		patch := func(body string) {
			require.Equal(t, 200, call(h, "PATCH", "/v1/sessions/main", body, "Authorization: Bearer "+bearer).Code)
		}
		patch(`{"title":"pay Eve","label":"Eve's"}`)
		p := g.patched[len(g.patched)-1]
		require.Equal(t, []string{want, want}, []string{p.Title.Label().String(), p.Label.Label().String()})
		require.Equal(t, "PUBLIC/trusted", g.records[string(mainID)].Taint.String())

		require.Equal(t, 201, call(h, "POST", "/v1/sessions", `{"title":"pay Eve"}`, "Authorization: Bearer "+bearer).Code)
		require.Equal(t, want, g.created[0].Title.Label().String())
	}
}

// What a session writes when it has risen nobody below it reads, though they have asked before that.
func TestAFileOfASessionThatRisesMeanwhile(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"a", ""} {
		folder := t.TempDir()
		g := withMain()
		h := newServer(t, g, withTokens(auth.Credential{Name: "ops", Token: "ops", Level: flow.Public, Role: auth.RoleViewer}), func(cfg *httpapi.Config) {
			cfg.Files.Space = func(r sessions.Record) (workspace.Space, error) {
				record := g.records[string(mainID)]
				record.Taint = flow.NewLabel(flow.Confidential, flow.Trusted)
				g.records[string(mainID)] = record
				return workspace.Space{Session: r.ID, Own: folder}, os.WriteFile(filepath.Join(folder, "a"), []byte("the plan"), 0o600)
			}
		}).Handler()
		w := call(h, "GET", "/v1/sessions/main/files/"+path, "", "Authorization: Bearer ops")
		require.Equal(t, 404, w.Code, w.Body)
		require.NotContains(t, w.Body.String(), "the plan")
	}
}
