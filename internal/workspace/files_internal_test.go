package workspace

import (
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/sessions"
)

// A disk without blocks or inodes, or a used-up disk quota, is ErrNoSpace, like a disk at its reserve.
func TestErrorsOfTheDisk(t *testing.T) {
	t.Parallel()
	failed := func(why error) error { return plain(&fs.PathError{Op: "open", Path: "/outside", Err: why}) }
	for _, why := range []error{syscall.ENOSPC, syscall.EDQUOT} {
		require.ErrorIs(t, failed(why), ErrNoSpace)
		require.EqualError(t, failed(why), "the disk is full")
	}
	require.Equal(t, ErrFolder, failed(syscall.EISDIR))
	require.Equal(t, ErrLongName, failed(syscall.ENAMETOOLONG))
	require.Equal(t, sessions.ErrNotFound, failed(syscall.EACCES))
}
