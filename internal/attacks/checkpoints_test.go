//go:build mutants

package attacks_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy"
)

// checkpoints are all that policy declares, read from its source so that none is forgotten.
func checkpoints(t *testing.T) (all []policy.Checkpoint) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "policy", "checkpoint.go"), nil, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			text, err := strconv.Unquote(literal.Value)
			require.NoError(t, err)
			all = append(all, policy.Checkpoint(text))
		}
		return true
	})
	require.Greater(t, len(all), 15)
	return all
}
