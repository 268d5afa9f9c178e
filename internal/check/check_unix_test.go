//go:build unix

package check_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/check"
)

// A check of a pipe does not wait for a writer.
func TestAPipeIsNoFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	k, err := check.New(check.Definition{File: path})
	require.NoError(t, err)
	_, err = k.Look(t.Context(), check.Ways{}, "")
	require.ErrorContains(t, err, "is not a file")
}
