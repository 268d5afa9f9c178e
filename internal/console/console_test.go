package console_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/console"
)

// The libraries are what was published: each has its checksum and its licence, and nothing else lies beside them.
func TestLibrariesAreAsPublished(t *testing.T) {
	t.Parallel()
	const folder = "page/lib"
	sums, err := os.ReadFile(folder + "/SHA256SUMS")
	require.NoError(t, err)
	want := map[string]string{}
	for line := range strings.Lines(string(sums)) {
		fields := strings.Fields(line)
		require.Len(t, fields, 2, line)
		want[fields[1]] = fields[0]
	}
	files, err := filepath.Glob(folder + "/*")
	require.NoError(t, err)
	for _, path := range files {
		name := filepath.Base(path)
		if name == "SHA256SUMS" || name == "README.md" {
			continue
		}
		content, err := os.ReadFile(filepath.Clean(path))
		require.NoError(t, err)
		sum := sha256.Sum256(content)
		require.Equal(t, want[name], hex.EncodeToString(sum[:]), name)
		delete(want, name)
		if base, ok := strings.CutSuffix(name, ".mjs"); ok {
			require.FileExists(t, folder+"/"+base+".LICENSE")
		}
	}
	require.Empty(t, want, "files that are gone")
}

// Browsers run a module only if it is served as JavaScript.
func TestModulesAreServedAsJavaScript(t *testing.T) {
	t.Parallel()
	page := console.Handler(true)
	for _, path := range []string{"/app.js", "/lib/markdown-it.mjs"} {
		w := httptest.NewRecorder()
		page.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		require.Equal(t, http.StatusOK, w.Code)
		require.Contains(t, w.Header().Get("Content-Type"), "text/javascript")
	}
}
