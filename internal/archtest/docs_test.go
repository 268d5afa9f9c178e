package archtest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// A file or folder of the code that a document names exists.
func TestDocumentsNameFilesThatExist(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile("`((?:adapters|announce|cmd|internal|policy|router|sessions|store|tools)/[a-z0-9_/.]+)`")
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	found := 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, name := range named.FindAllStringSubmatch(string(text), -1) {
			found++
			_, err := os.Stat(filepath.Join("../..", name[1]))
			require.NoError(t, err, page)
		}
	}
	require.Greater(t, found, 30)
}
