package httpapi_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi"
	"sluice/internal/workspace"
	"sluice/router/quota"
	"sluice/sessions"
)

// Files of a proactive message for which there is no room are refused in the same way.
func TestFilesOfAMessageBeyondTheirBounds(t *testing.T) {
	t.Parallel()
	g := newGateway()
	g.fail = &quota.FullError{Text: "the disk is short of space (limits.reserveBytes)"}
	w := call(newServer(t, g).Handler(), "POST", "/v1/messages", `{"channel":"telegram","to":"1","text":"x","files":[{"name":"a","data":"eA=="}]}`)
	require.Equal(t, 507, w.Code, w.Body)
	require.JSONEq(t, `{"error":"no_space","message":"the disk is short of space (limits.reserveBytes)"}`, w.Body.String())
}

// A file that would go beyond a bound is refused with the bound's name, and nothing of it is left.
func TestAFileBeyondItsBounds(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "sessions", "sess_1")
	require.NoError(t, os.MkdirAll(folder, 0o700))
	bounds := workspace.Bounds{Session: 64 << 10, Reserve: 1 << 30}
	free := int64(10 << 30)
	g := newGateway()
	g.add(sessions.Record{ID: "sess_1", Key: "agent:main:http:sess_1", FileAccess: sessions.FileAccess{Write: []string{""}}})
	h := newServer(t, g, func(c *httpapi.Config) {
		c.Files.Space = func(r sessions.Record) (workspace.Space, error) {
			return workspace.Space{Session: r.ID, Own: folder}, nil
		}
		c.Files.Opener.Quota = workspace.NewQuota(func() workspace.Bounds { return bounds }, func(string) (int64, int64, error) { return free, 20 << 30, nil }, time.Now)
	}).Handler()
	const files = "/v1/sessions/sess_1/files/"
	require.Equal(t, 201, call(h, "PUT", files+"a", "x").Code)
	w := call(h, "PUT", files+"b", string(make([]byte, 64<<10)))
	require.Equal(t, 507, w.Code, w.Body)
	require.Contains(t, w.Body.String(), `"no_space"`)
	require.Contains(t, w.Body.String(), "limits.sessionBytes")
	free = 1 << 30
	w = call(h, "PUT", files+"c", "x")
	require.Equal(t, 507, w.Code, w.Body)
	require.Contains(t, w.Body.String(), "limits.reserveBytes")
	require.Equal(t, 204, call(h, "DELETE", files+"a", "").Code, "what makes room is done")
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, left)
}
