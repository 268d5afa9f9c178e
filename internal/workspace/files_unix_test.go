//go:build unix

package workspace_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/workspace"
	"sluice/policy/flow"
	"sluice/sessions"
)

// Whatever leads out of the folder, or is not a file, is not there.
func TestOneNotFound(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	dir := filepath.Join(state, "work")
	put(t, state, "secret", "token")
	put(t, dir, "in/file", "x")
	require.NoError(t, os.Symlink(filepath.Join(state, "secret"), filepath.Join(dir, "absolute")))
	require.NoError(t, os.Symlink("../secret", filepath.Join(dir, "relative")))
	require.NoError(t, os.Symlink("..", filepath.Join(dir, "up")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(dir, "device")))
	f := open(t, dir, all)
	for _, name := range []string{
		"none", "../secret", "/etc/passwd", "in/../../secret", "absolute", "relative", "up/secret", "fifo", "device",
		"in/file/below", "a\x00b", "/workspace/../secret", strings.Repeat("x/", 3000),
	} {
		_, err := f.Read(name)
		require.Equal(t, sessions.ErrNotFound, err, name)
	}
	for _, name := range []string{"../new", "/tmp/new", "up/new", "absolute", "fifo", "in/file/new", "a\x00b"} {
		_, err := f.Write(t.Context(), name, []byte("y"), flow.Bottom())
		require.ErrorIs(t, err, sessions.ErrNotFound, name)
	}
	for _, name := range []string{"", ".", "in"} {
		_, err := f.Read(name)
		require.ErrorIs(t, err, workspace.ErrFolder, name)
		_, err = f.Write(t.Context(), name, nil, flow.Bottom())
		require.ErrorIs(t, err, workspace.ErrFolder, name)
	}
	require.ErrorIs(t, f.Remove("up/secret", flow.Bottom(), nil), sessions.ErrNotFound)
	require.NoError(t, f.Remove("absolute", flow.Bottom(), nil), "the link itself")
	content, err := os.ReadFile(filepath.Join(state, "secret"))
	require.NoError(t, err)
	require.Equal(t, "token", string(content))
	_, err = f.Write(t.Context(), "big", make([]byte, workspace.FileMax+1), flow.Bottom())
	require.ErrorIs(t, err, workspace.ErrTooLarge)
	require.NoError(t, os.Truncate(filepath.Join(dir, "in/file"), workspace.FileMax+1))
	_, err = f.Read("in/file")
	require.ErrorIs(t, err, workspace.ErrTooLarge)
}

// A search looks at a bounded number of entries, and goes a bounded number of folders deep.
func TestWalkIsBounded(t *testing.T) {
	t.Parallel()
	walk := func(dir string) (seen int, whole bool) {
		whole, err := open(t, dir, all).Walk(t.Context(), "", func(workspace.Entry, func() ([]byte, error)) bool {
			seen++
			return true
		})
		require.NoError(t, err)
		return seen, whole
	}
	flat := t.TempDir()
	for i := range 20_050 {
		require.NoError(t, syscall.Mknod(filepath.Join(flat, strconv.Itoa(i)), syscall.S_IFREG|0o600, 0))
	}
	seen, whole := walk(flat)
	require.Equal(t, 19_999, seen, "the folder itself is one of 20,000")
	require.False(t, whole)
	entries, more, err := open(t, flat, all).List(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, entries, workspace.EntriesMax)
	require.True(t, more)

	deep := t.TempDir()
	put(t, deep, "top", "")
	put(t, deep, strings.Repeat("d/", 120)+"bottom", "")
	seen, whole = walk(deep)
	require.Equal(t, 1, seen)
	require.False(t, whole)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = open(t, flat, all).List(ended, "")
	require.ErrorIs(t, err, context.Canceled)
	_, err = open(t, flat, all).Walk(ended, "", nil)
	require.ErrorIs(t, err, context.Canceled)
}
