package storetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func testMarks(t *testing.T, b *bundle) {
	marked := func(agent, path string, below bool) bool {
		t.Helper()
		found, err := b.FileMarked(b.ctx, agent, path, below)
		require.NoError(t, err)
		return found
	}
	mark := func(path string) { require.NoError(t, b.MarkFile(b.ctx, "main", path)) }
	require.False(t, marked("main", ".", true))
	mark("a/ü")
	mark("a/ü")
	for path, want := range map[string][2]bool{
		"a/ü": {true, true}, "a/ü/x/y": {true, true}, "a": {false, true}, ".": {false, true}, "a/üb": {false, false}, "a/u": {false, false}, "b": {false, false}, "%": {false, false},
	} {
		require.Equal(t, want, [2]bool{marked("main", path, false), marked("main", path, true)}, path)
		require.False(t, marked("other", path, true))
	}
	require.NoError(t, b.UnmarkFile(b.ctx, "main", "a"))
	require.True(t, marked("main", "a/ü", false), "what is in a folder keeps its own mark")
	require.NoError(t, b.UnmarkFile(b.ctx, "main", "a/ü"))
	require.NoError(t, b.UnmarkFile(b.ctx, "main", "a/ü"))
	require.False(t, marked("main", ".", true))
	for i := range 1000 {
		mark(fmt.Sprint("many/", i))
	}
	require.False(t, marked("main", "few", false))
	mark("one more")
	require.True(t, marked("main", "few", false), "beyond a number, all are marked")
	require.NoError(t, b.UnmarkFile(b.ctx, "main", "few"))
	require.True(t, marked("main", "few", false))
}
