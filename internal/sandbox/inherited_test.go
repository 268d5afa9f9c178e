//go:build linux

package sandbox_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sluice/internal/sandbox"
)

// What started the gateway may have left files open in it, which no command is to read.
func TestInheritedFiles(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(file, []byte("THE-SECRET"), 0o600))
	// Each command gets its own: the first one marks all of them.
	inherit := func() string {
		opened, err := unix.Open(file, unix.O_RDONLY, 0) // without O_CLOEXEC
		require.NoError(t, err)
		t.Cleanup(func() { _ = unix.Close(opened) })
		fd, err := unix.FcntlInt(uintptr(opened), unix.F_DUPFD, 40)
		require.NoError(t, err)
		t.Cleanup(func() { _ = unix.Close(fd) })
		return strconv.Itoa(fd)
	}
	for name, run := range map[string]func(script string) (sandbox.Result, error){
		"sandbox": func(script string) (sandbox.Result, error) {
			return sh(t, sandbox.Config{}, script), nil
		},
		"host": func(script string) (sandbox.Result, error) {
			return sandbox.Host{}.Run(t.Context(), sandbox.Config{Workspace: t.TempDir()}, "sh", "-c", script)
		},
	} {
		fd := inherit()
		result, err := run(`cat /proc/self/fd/` + fd + ` 2>/dev/null; ls /proc/self/fd | tr '\n' ' '`)
		require.NoError(t, err, name)
		require.Equal(t, "0 1 2 3 ", result.Stdout, "%s: 3 is the folder that ls reads", name)
	}
}
