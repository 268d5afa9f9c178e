package why

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each action that has a cause here is one that some part of the gateway records: its name is written where an entry of the
// audit trail is made, as the entry's action, as an argument, or as a constant.
func TestCausesAreOfActionsThatAreRecorded(t *testing.T) {
	t.Parallel()
	written := map[string]bool{}
	note := func(x ast.Expr) {
		if lit, ok := x.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			text, err := strconv.Unquote(lit.Value)
			require.NoError(t, err)
			written[text] = true
		}
	}
	files := token.NewFileSet()
	for _, dir := range []string{"adapters", "internal", "router", "sessions", "store"} {
		require.NoError(t, filepath.WalkDir(filepath.Join("../../..", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.KeyValueExpr:
					if name, ok := n.Key.(*ast.Ident); ok && name.Name == "Action" {
						note(n.Value)
					}
				case *ast.CallExpr:
					for _, arg := range n.Args {
						note(arg)
					}
				case *ast.ValueSpec:
					for _, value := range n.Values {
						note(value)
					}
				}
				return true
			})
			return nil
		}))
	}
	for action := range entryCauses {
		require.True(t, written[action], "nothing records %s", action)
	}
}
