//go:build unix

package hostos_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/hostos"
)

// A released lock is free while a child that is being started still has a copy of the file.
func TestAReleasedLockIsFree(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		require.NoError(t, err)
		return f
	}
	first, second := open(), open()
	require.NoError(t, hostos.Lock(first))
	child, err := syscall.Dup(int(first.Fd()))
	require.NoError(t, err)
	defer syscall.Close(child) //nolint:errcheck // the end of the test
	require.ErrorIs(t, hostos.Lock(second), hostos.ErrLocked)
	require.NoError(t, hostos.Release(first))
	require.NoError(t, hostos.Lock(second))
	require.NoError(t, hostos.Release(second))
}
