package leash

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Both ways mark a file that would be inherited, the one for old kernels too.
func TestKeepFiles(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]func() error{"at once": keepFiles, "file by file": keepEach} {
		fd, err := unix.Open(os.DevNull, unix.O_RDONLY, 0)
		require.NoError(t, err)
		t.Cleanup(func() { _ = unix.Close(fd) })
		require.NoError(t, keep(), name)
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		require.NoError(t, err)
		require.Equal(t, unix.FD_CLOEXEC, flags, name)
	}
}
