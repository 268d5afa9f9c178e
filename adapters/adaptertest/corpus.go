package adaptertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Corpus runs a test for each <name>.json in a folder: content as platforms send it. want is <name>.txt, the text for
// a reader, without surrounding space.
func Corpus(t *testing.T, folder string, test func(t *testing.T, raw []byte, want string)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(filepath.Clean(file))
			require.NoError(t, err)
			want, err := os.ReadFile(filepath.Clean(strings.TrimSuffix(file, ".json") + ".txt"))
			require.NoError(t, err)
			test(t, raw, strings.TrimSpace(string(want)))
		})
	}
}
