//go:build unix

package workspace_test

import (
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/workspace"
)

// Many small files count too, and so do those in folders in which no path leads any more.
func TestWhatIsMeasured(t *testing.T) {
	t.Parallel()
	s := newStock(t, workspace.Bounds{Session: 4 << 20})
	folder := s.session(t, "a")
	require.NoError(t, s.Admit(t.Context(), folder, 1))
	for i := range 1100 {
		require.NoError(t, syscall.Mknod(filepath.Join(folder, strconv.Itoa(i)), syscall.S_IFREG|0o600, 0))
	}
	s.now.Add(3600)
	require.ErrorContains(t, s.Admit(t.Context(), folder, 1), "take 4.3 MiB")

	nested := s.session(t, "b")
	put(t, nested, strings.Repeat("d/", 300)+"x", "hidden")
	require.ErrorContains(t, s.Admit(t.Context(), nested, 1), "take 1.0 GiB")
}
