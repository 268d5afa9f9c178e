//go:build linux

package workspace_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sluice/internal/workspace"
)

// asNobody runs a function with the rights of an ordinary user on files, also where the test is root's.
func asNobody(do func() error) error {
	const nobody = 65534
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine, and its identity with it
		_ = unix.Setfsuid(nobody)
		done <- do()
	}()
	return <-done
}

// A command could hide what it has written from the quota by taking the rights to read a folder away, and by taking those of its
// session's folder away keep all other sessions from writing.
func TestAFolderThatCannotBeReadIsMeasured(t *testing.T) {
	t.Parallel()
	s := newStock(t, workspace.Bounds{Session: 1 << 20, Workspace: 1 << 30})
	folder, other := s.session(t, "a"), s.session(t, "b")
	hidden := filepath.Join(folder, "hidden")
	require.NoError(t, os.Mkdir(hidden, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(hidden, "x"), make([]byte, 2<<20), 0o600))
	above := filepath.Dir(filepath.Dir(t.TempDir())) // of the test's folders
	for path := hidden; os.Getuid() == 0 && path != above; path = filepath.Dir(path) {
		require.True(t, strings.HasPrefix(path, above))
		require.NoError(t, os.Chown(path, 65534, -1))
	}
	if os.Getuid() == 0 {
		require.NoError(t, os.Chown(other, 65534, -1))
	}
	for _, path := range []string{hidden, folder} {
		require.NoError(t, os.Chmod(path, 0))
	}
	err := asNobody(func() error { return s.Admit(t.Context(), folder, 1) })
	require.ErrorIs(t, err, workspace.ErrNoSpace)
	require.NoError(t, os.Chmod(folder, 0))
	s.now.Add(3600)
	require.NoError(t, asNobody(func() error { return s.Admit(t.Context(), other, 1) }))
}
