package archtest_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/packages.md")

// TestThePageOfPackages compares docs/packages.md with the layers and with the first sentence of each package's comment.
func TestThePageOfPackages(t *testing.T) {
	t.Parallel()
	says := map[string]string{}
	for _, p := range packages(t, "faultpoints") {
		require.NotEmpty(t, p.Says, "%s has no comment that says what it is for", p.ImportPath)
		_, says[p.ImportPath], _ = strings.Cut(p.Says, " ") // without the word "Package" or "Command"
	}
	var b strings.Builder
	b.WriteString(`# Packages

A package imports only packages of the groups above its own. A test checks this, and writes this page
from the groups and from the first sentence of each package's comment (` + "`go generate ./internal/archtest`" + `).
[Architecture](architecture.md) says how the packages work together.

| group | package | what it is for |
| --- | --- | --- |
`)
	for i, layer := range layers() {
		for _, path := range layer {
			name, text, _ := strings.Cut(says[path], " ")
			require.NotEmpty(t, text, "%s: the comment of %s is no sentence", path, name)
			fmt.Fprintf(&b, "| %d | `%s` | %s |\n", i+1, path, strings.NewReplacer("[", "`", "]", "`", "|", "\\|", "<", "&lt;").Replace(text))
		}
	}
	const page = "../../docs/packages.md"
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(b.String()), 0o600))
	}
	have, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, b.String(), string(have), "run go generate ./internal/archtest")
}
