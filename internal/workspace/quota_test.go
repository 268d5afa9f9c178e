package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/workspace"
	"sluice/policy/flow"
)

// stock is a workspace with a quota over a disk that a test fills.
type stock struct {
	*workspace.Quota
	root   string
	bounds workspace.Bounds
	free   atomic.Int64
	now    atomic.Int64 // seconds
}

func newStock(t *testing.T, b workspace.Bounds) *stock {
	t.Helper()
	s := &stock{root: t.TempDir(), bounds: b}
	s.free.Store(100 << 30)
	disk := func(string) (int64, int64, error) { return s.free.Load(), 200 << 30, nil }
	s.Quota = workspace.NewQuota(func() workspace.Bounds { return s.bounds }, disk, func() time.Time { return time.Unix(s.now.Load(), 0) })
	return s
}

// session is the folder of a session.
func (s *stock) session(t *testing.T, name string) string {
	t.Helper()
	folder := filepath.Join(s.root, "sessions", name)
	require.NoError(t, os.MkdirAll(folder, 0o700))
	return folder
}

// What a gateway was writing when it died goes when the folder is measured; nobody else could see it.
func TestAbandonedDraftsGo(t *testing.T) {
	t.Parallel()
	s := newStock(t, workspace.Bounds{Session: 1 << 20})
	folder := s.session(t, "a")
	put(t, folder, "in/.draft-old", "x")
	put(t, folder, "in/.draft-new", "x")
	put(t, folder, "in/.draftsman", "x")
	for _, name := range []string{"in/.draft-old", "in/.draftsman"} {
		old := time.Now().Add(-25 * time.Hour)
		require.NoError(t, os.Chtimes(filepath.Join(folder, name), old, old))
	}
	require.NoError(t, s.Admit(t.Context(), folder, 1))
	names, err := os.ReadDir(filepath.Join(folder, "in"))
	require.NoError(t, err)
	require.Len(t, names, 2)
}

func TestQuotas(t *testing.T) {
	t.Parallel()
	s := newStock(t, workspace.Bounds{Session: 1 << 20, Workspace: 2 << 20, Reserve: 1 << 30})
	write := func(session, name string, n int) error {
		f, err := (&workspace.Opener{Quota: s.Quota}).Open(workspace.Space{Own: s.session(t, session)})
		require.NoError(t, err)
		defer func() { require.NoError(t, f.Close()) }()
		_, err = f.Write(t.Context(), name, make([]byte, n), flow.Bottom())
		return err
	}
	require.NoError(t, write("a", "x", 600<<10))
	err := write("a", "y", 600<<10)
	require.ErrorIs(t, err, workspace.ErrNoSpace)
	require.ErrorContains(t, err, "the files of this conversation take")
	require.ErrorContains(t, err, "1.0 MiB (limits.sessionBytes)")
	for range 20 {
		require.NoError(t, write("a", "small", 100<<10), "what is replaced is not counted for ever")
	}
	require.NoError(t, write("b", "x", 900<<10))
	err = write("c", "x", 900<<10)
	require.ErrorContains(t, err, "limits.workspaceBytes")
	require.NotContains(t, err.Error(), "1.8 MiB", "what others have is not said")
	require.NoError(t, os.RemoveAll(s.session(t, "b")))
	s.now.Add(60)
	require.NoError(t, write("c", "x", 900<<10), "there is room again")

	s.free.Store(1<<30 + 10<<10)
	require.NoError(t, write("c", "y", 1<<10))
	err = write("c", "z", 20<<10)
	require.ErrorIs(t, err, workspace.ErrNoSpace)
	require.ErrorContains(t, err, "limits.reserveBytes")
	require.NoError(t, s.Reserve(s.root, 10<<10))
	require.ErrorIs(t, s.Reserve(s.root, 10<<10+1), workspace.ErrNoSpace)
	s.bounds.Reserve = 0
	require.NoError(t, s.Reserve(s.root, 10<<10+1), "without a reserve there is no bound")
	s.bounds.Reserve = 1 << 30
	s.free.Store(1<<30 - 1)
	_, err = s.Watch(t.Context(), s.session(t, "c"))
	require.ErrorIs(t, err, workspace.ErrNoSpace, "no command begins")
	_, err = os.Stat(filepath.Join(s.session(t, "c"), "z"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A session that tries how much room the workspace has left learns of the other sessions' files no more than how many sixteenths of the
// workspace they fill, neither by writing nor by a command.
func TestOthersCountInSteps(t *testing.T) {
	t.Parallel()
	rooms := func(others int) (written, command int64) {
		s := newStock(t, workspace.Bounds{Workspace: 16 << 20})
		put(t, s.session(t, "b"), "x", strings.Repeat("x", others))
		folder := s.session(t, "a")
		w, err := s.Watch(t.Context(), folder)
		require.NoError(t, err)
		defer w.End()
		low, high := int64(0), int64(16<<20)
		for low < high {
			middle := (low + high + 1) / 2
			if err := s.Admit(t.Context(), folder, middle); err == nil {
				low = middle
				require.NoError(t, s.Admit(t.Context(), folder, -middle))
			} else {
				require.ErrorIs(t, err, workspace.ErrNoSpace)
				high = middle - 1
			}
		}
		return low, w.Room()
	}
	written, command := rooms(10<<20 + 1)
	for _, others := range []int{10<<20 + 100_000, 10<<20 + 777_777} {
		w, c := rooms(others)
		require.Equal(t, written, w, "what a write may take")
		require.Equal(t, command, c, "how large a file of a command may be")
	}
	more, _ := rooms(12 << 20)
	require.Less(t, more, written, "the bound of the workspace holds")
}

// A command is ended when the files of its session, of all sessions, or the disk have no room any more.
func TestWatch(t *testing.T) {
	t.Parallel()
	s := newStock(t, workspace.Bounds{Session: 10 << 20, Workspace: 20 << 20, Reserve: 1 << 30})
	folder := s.session(t, "a")
	put(t, s.session(t, "b"), "x", strings.Repeat("x", 12<<20))
	w, err := s.Watch(t.Context(), folder)
	require.NoError(t, err)
	require.InDelta(t, 7.5*(1<<20), w.Room(), 64<<10, "what the workspace has left is less than what the session has")
	require.NoError(t, w.Check(t.Context()))
	put(t, folder, "x", strings.Repeat("x", 9<<20))
	s.free.Add(-9 << 20)
	err = w.Check(t.Context())
	require.ErrorIs(t, err, workspace.ErrNoSpace)
	require.ErrorContains(t, err, "the files of this conversation take 9.0 MiB")
	w.End()

	w, err = s.Watch(t.Context(), folder)
	require.NoError(t, err, "a session without room may tidy up")
	require.NoError(t, w.Check(t.Context()))
	require.EqualValues(t, 1<<20, w.Room())
	s.free.Store(1<<30 - 1)
	require.ErrorContains(t, w.Check(t.Context()), "limits.reserveBytes")
	w.End()
	require.NoError(t, os.Remove(filepath.Join(folder, "x")))
	s.free.Store(100 << 30)
	require.NoError(t, s.Admit(t.Context(), folder, 1<<20))
}

// A workspace is nearly full from four fifths of its space on, also after files were deleted or written by others.
func TestNearlyFullWorkspaces(t *testing.T) {
	t.Parallel()
	s := newStock(t, workspace.Bounds{Workspace: 1 << 20})
	nearly := func() []string {
		folders, err := s.Nearly(t.Context())
		require.NoError(t, err)
		return folders
	}
	folder := s.session(t, "a")
	require.Empty(t, nearly(), "nobody has used it yet")
	require.NoError(t, s.Admit(t.Context(), folder, 800<<10))
	require.Empty(t, nearly())
	require.NoError(t, s.Admit(t.Context(), folder, 40<<10))
	require.Equal(t, []string{s.root}, nearly())
	s.now.Add(3600)
	require.Empty(t, nearly(), "nothing was written after all")
	s.bounds.Workspace = 0
	require.Empty(t, nearly(), "no limit")
}
