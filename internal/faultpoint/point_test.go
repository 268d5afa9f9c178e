package faultpoint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/faultpoint"
)

// TestPointsAreAllOfThem reads the constants: one that Points left out would
// never be tried by the kill test.
func TestPointsAreAllOfThem(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "point.go", nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	var named []faultpoint.Point
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Point" {
			name, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			named = append(named, faultpoint.Point(name))
		}
		return true
	})
	require.Equal(t, named, faultpoint.Points())
}
