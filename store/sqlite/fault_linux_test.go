package sqlite_test

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/sessions"
	"sluice/store/sqlite"
)

// mounted is a small file system of its own, where the test may make one.
func mounted(t *testing.T) (dir string, ok bool) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=3m,mode=700"); err != nil {
		return "", false
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir, true
}

// TestFullDisk lets SQLite find no room: by a limit that anybody may set, and on a real disk where that can be had.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	db, alter := sqlite.OpenAltered(t.Context(), t, config(t.TempDir()))
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, db.Commit(t.Context(), event("before")))
	alter(`PRAGMA max_page_count = 1`) // what is there already stays
	unavailable(t, db.Commit(t.Context(), bigEvent()), "the disk is full")
	_, err := db.Event(t.Context(), "before")
	require.NoError(t, err)
	_, err = db.Event(t.Context(), "big")
	require.ErrorIs(t, err, sessions.ErrNotFound)
	alter(`PRAGMA max_page_count = 4294967294`)
	require.NoError(t, db.Commit(t.Context(), bigEvent()))

	dir, ok := mounted(t)
	if !ok {
		return
	}
	ballast := filepath.Join(dir, "ballast")
	recovers(t, open(t, dir), func() {
		f, err := os.Create(ballast)
		require.NoError(t, err)
		for err == nil {
			_, err = f.Write(make([]byte, 4096))
		}
		require.ErrorIs(t, err, syscall.ENOSPC)
		require.NoError(t, f.Close())
	}, func() { require.NoError(t, os.Remove(ballast)) }, "the disk is full")
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	db, alter := sqlite.OpenAltered(t.Context(), t, config(t.TempDir()))
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	recovers(t, db, func() { alter(`PRAGMA query_only = 1`) }, func() { alter(`PRAGMA query_only = 0`) }, "the database is read-only")

	dir, ok := mounted(t)
	if !ok {
		return
	}
	require.NoError(t, open(t, dir).Close())
	require.NoError(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	_, err := sqlite.Open(t.Context(), config(dir))
	unavailable(t, err, "read-only")
	require.NoError(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT, ""))
	open(t, dir)
}

// envLimited tells the test binary that it is the process whose files may not grow.
const envLimited = "SLUICE_TEST_LIMITED"

// TestFilesMayNotGrow lets every write behind a place fail, as a bad disk or a
// quota does, in a process of its own: the limit holds for all of its files.
func TestFilesMayNotGrow(t *testing.T) {
	t.Parallel()
	if os.Getenv(envLimited) == "" {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFilesMayNotGrow$")
		child.Env = append(os.Environ(), envLimited+"=1")
		out, err := child.CombinedOutput()
		require.NoError(t, err, string(out))
		return
	}
	signal.Ignore(syscall.SIGXFSZ) // the write then fails
	var free syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &free))
	limit := func(bytes uint64) {
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: bytes, Max: free.Max}))
	}
	recovers(t, open(t, t.TempDir()), func() { limit(4096) }, func() { limit(free.Cur) }, "the disk reports errors")
}
