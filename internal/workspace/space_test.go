package workspace_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"sluice/internal/workspace"
	"sluice/policy/flow"
	"sluice/sessions"
)

// agent is an agent's workspace with sessions.
type agent struct {
	folder string
	marks  *marks
}

func newAgent(t *testing.T) *agent {
	t.Helper()
	return &agent{t.TempDir(), &marks{paths: map[string]bool{}}}
}

// session opens the files of a session.
func (a *agent) session(t *testing.T, id sessions.ID, access sessions.FileAccess) *workspace.Files {
	t.Helper()
	own := filepath.Join(a.folder, "sessions", string(id))
	require.NoError(t, os.MkdirAll(own, 0o700))
	f, err := (&workspace.Opener{Marks: a.marks}).Open(workspace.Space{Agent: "main", Session: id, Own: own, Shared: workspace.SharedFolder(a.folder), Access: access})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

// marks are those of one agent, in memory.
type marks struct {
	mu    sync.Mutex
	paths map[string]bool
}

func (m *marks) MarkFile(_ context.Context, _, path string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.paths[path] = true
	return nil
}

func (m *marks) UnmarkFile(_ context.Context, _, path string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.paths, path)
	return nil
}

func (m *marks) FileMarked(_ context.Context, _, path string, below bool) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for marked := range m.paths {
		if marked == "." || marked == path || strings.HasPrefix(path, marked+"/") || below && (path == "." || strings.HasPrefix(marked, path+"/")) {
			return true, nil
		}
	}
	return false, nil
}

const (
	ann = sessions.ID("sess_aaaaaaaaaaaa")
	bob = sessions.ID("sess_bbbbbbbbbbbb")
)

func text(t *testing.T, f *workspace.Files, name string) string {
	t.Helper()
	content, err := f.Read(name)
	require.NoError(t, err, name)
	return string(content)
}

func paths(t *testing.T, f *workspace.Files, folder string) (all []string) {
	t.Helper()
	entries, _, err := f.List(t.Context(), folder)
	require.NoError(t, err)
	for _, e := range entries {
		all = append(all, e.Path)
	}
	return all
}

// Two sessions exchange a file. The folder of each is its own, whatever the scope of the other.
func TestSessionsShareFiles(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	one, other := a.session(t, ann, sessions.WholeWorkspace()), a.session(t, bob, sessions.WholeWorkspace())
	write := func(f *workspace.Files, name string) error {
		_, err := f.Write(t.Context(), name, []byte("of "+name), flow.Bottom())
		return err
	}
	require.NoError(t, write(one, "reports/june.md"))
	require.Equal(t, "of reports/june.md", text(t, other, "reports/june.md"))
	mine := ".sessions/" + string(ann)
	require.NoError(t, write(one, mine+"/secret"))
	require.Equal(t, "of "+mine+"/secret", text(t, one, "/workspace/"+mine+"/secret"))
	for _, name := range []string{mine + "/secret", mine, ".sessions/" + string(bob) + "/../" + string(ann) + "/secret", ".sessions/x", ".Sessions/" + string(ann) + "/secret"} {
		_, err := other.Read(name)
		require.Equal(t, sessions.ErrNotFound, err, name)
	}
	require.Equal(t, sessions.ErrNotFound, write(other, mine+"/new"))
	require.Equal(t, sessions.ErrNotFound, write(other, ".sessions/new"))
	require.Equal(t, []string{".sessions/" + string(bob), "reports"}, paths(t, other, ""))
	require.Equal(t, []string{".sessions/" + string(bob)}, paths(t, other, ".sessions"))
	require.Equal(t, []string{mine + "/secret"}, paths(t, one, mine))
	var seen []string
	_, err := one.Walk(t.Context(), "", func(e workspace.Entry, _ func() ([]byte, error)) bool {
		seen = append(seen, e.Path)
		return true
	})
	require.NoError(t, err)
	require.Equal(t, []string{mine + "/secret", "reports/june.md"}, seen)

	alone := a.session(t, "sess_cccccccccccc", sessions.FileAccess{})
	require.Empty(t, paths(t, alone, ""))
	_, err = alone.Read("reports/june.md")
	require.Equal(t, sessions.ErrNotFound, err)
	require.NoError(t, write(alone, "note"))
	require.Equal(t, "of note", text(t, alone, ".sessions/sess_cccccccccccc/note"), "its own folder is its workspace")
	_, err = one.Read("note")
	require.Equal(t, sessions.ErrNotFound, err)
	instructions, err := os.ReadDir(a.folder)
	require.NoError(t, err)
	require.Len(t, instructions, 2, "nothing is written beside the instructions of the agent")
}

// The scope of the seed's example.
func TestScopeOfASession(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	whole := a.session(t, ann, sessions.WholeWorkspace())
	for _, name := range []string{"projects/my-project/plan", "projects/other/plan", "shared/templates/letter", "shared/private"} {
		_, err := whole.Write(t.Context(), name, []byte(name), flow.Bottom())
		require.NoError(t, err)
	}
	f := a.session(t, bob, sessions.FileAccess{Read: []string{"projects/my-project", "shared/templates"}, Write: []string{"projects/my-project/output"}})
	for name, want := range map[string]error{
		"projects/my-project/plan": nil, "shared/templates/letter": nil, "projects/other/plan": sessions.ErrNotFound, "shared/private": sessions.ErrNotFound, "projects": sessions.ErrNotFound,
	} {
		_, err := f.Read(name)
		require.Equal(t, want, err, name)
	}
	for name, want := range map[string]error{
		"projects/my-project/output/a": nil, "projects/my-project/plan": workspace.ErrReadOnly, "shared/new": sessions.ErrNotFound, ".sessions/" + string(bob) + "/a": nil,
	} {
		_, err := f.Write(t.Context(), name, []byte("new"), flow.Bottom())
		require.Equal(t, want, err, name)
	}
	require.Equal(t, "new", text(t, whole, "projects/my-project/output/a"))
}

// What a stranger has written makes who reads it untrusted, until somebody trusted replaces it. What is above the level of the shared
// files does not get there.
func TestSharedFilesHaveLabels(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	f := a.session(t, ann, sessions.WholeWorkspace())
	untrusted := flow.NewLabel(flow.Public, flow.Untrusted)
	write := func(name string, label flow.Label) error {
		_, err := f.Write(t.Context(), name, []byte("x"), label)
		return err
	}
	label := func(name string) flow.Trust {
		label, err := f.Reading(t.Context(), name, func() error { return nil })
		require.NoError(t, err)
		return label.Trust()
	}
	require.NoError(t, write("in/a", untrusted))
	require.NoError(t, write("b", flow.Bottom()))
	require.NoError(t, write(".sessions/"+string(ann)+"/c", untrusted))
	for name, want := range map[string]flow.Trust{"in/a": flow.Untrusted, "in": flow.Untrusted, "": flow.Untrusted, "b": flow.Trusted, "inner": flow.Trusted, ".sessions/" + string(ann) + "/c": flow.Trusted} {
		require.Equal(t, want, label(name), name)
	}
	require.NoError(t, write("in/a", flow.Bottom()))
	require.Equal(t, flow.Trusted, label(""))

	require.NoError(t, write("in/a", untrusted))
	scoped := a.session(t, bob, sessions.FileAccess{Read: []string{"b", "inner"}})
	read, err := scoped.Reading(t.Context(), "", func() error { return nil })
	require.NoError(t, err)
	require.Equal(t, flow.Trusted, read.Trust(), "it does not see the file")
	seen, err := scoped.View(t.Context(), flow.Bottom())
	require.NoError(t, err)
	seen.Close()
	require.Equal(t, flow.Trusted, seen.Label.Trust())
	require.NoError(t, write("in/a", flow.Bottom()))

	secret := flow.NewLabel(flow.Internal, flow.Trusted)
	err = write("b", secret)
	require.EqualError(t, err, "this would be INTERNAL, and the shared files are PUBLIC: write it below .sessions/"+string(ann)+"/, or ask the owner to set workspaceClassification of this agent")
	require.Equal(t, err, f.Remove("b", secret, nil))
	require.NoError(t, write(".sessions/"+string(ann)+"/d", secret))

	v, err := f.View(t.Context(), secret)
	require.NoError(t, err)
	require.False(t, v.Mounts[0].Write, "its commands don't write there either")
	v.Close()
	require.Equal(t, flow.Trusted, label("b"))
	v, err = f.View(t.Context(), untrusted)
	require.NoError(t, err)
	require.True(t, v.Mounts[0].Write)
	v.Close()
	require.Equal(t, flow.Untrusted, label("b"), "any file may be one that the command has written")
}

// A reader of an untrusted file knows that it is, also if it was written, or replaced by a trusted one, a moment ago.
func TestAReaderKnowsWhatItHasRead(t *testing.T) {
	t.Parallel()
	f := newAgent(t).session(t, ann, sessions.WholeWorkspace())
	write := func(content string, trust flow.Trust) {
		_, err := f.Write(t.Context(), "a", []byte(content), flow.NewLabel(flow.Public, trust))
		require.NoError(t, err)
	}
	write("good", flow.Trusted)
	label, err := f.Reading(t.Context(), "a", func() error {
		write("evil", flow.Untrusted)
		require.Equal(t, "evil", text(t, f, "a"))
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, flow.Untrusted, label.Trust())
	label, err = f.Reading(t.Context(), "a", func() error {
		require.Equal(t, "evil", text(t, f, "a"))
		write("good", flow.Trusted)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, flow.Untrusted, label.Trust())
}

// A part of the scope that somebody has replaced by a link is not there, at any moment.
func TestLinksDoNotWidenAScope(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	shared := workspace.SharedFolder(a.folder)
	put(t, shared, "private/key", "secret")
	put(t, shared, "docs/key", "public")
	f := a.session(t, bob, sessions.FileAccess{Read: []string{"docs"}, Write: []string{"out/deep"}})
	var done atomic.Bool
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for !done.Load() {
			_ = os.Rename(filepath.Join(shared, "docs"), filepath.Join(shared, "away"))
			_ = os.Symlink("private", filepath.Join(shared, "docs"))
			_ = os.Remove(filepath.Join(shared, "docs"))
			_ = os.Rename(filepath.Join(shared, "away"), filepath.Join(shared, "docs"))
		}
	})
	for i := range 20_000 {
		if content, err := f.Read("docs/key"); err == nil {
			require.Equal(t, "public", string(content))
		}
		if i%10 > 0 {
			continue
		}
		v, err := f.View(t.Context(), flow.Bottom())
		require.NoError(t, err)
		for _, m := range v.Mounts {
			if m.At != "docs" {
				continue
			}
			names, err := m.File.Readdirnames(-1)
			require.NoError(t, err)
			require.Equal(t, []string{"key"}, names)
			target, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(m.File.Fd())))
			require.NoError(t, err)
			require.NotEqual(t, "private", filepath.Base(target))
		}
		v.Close()
	}
	done.Store(true)
	swapper.Wait()
	require.NoError(t, os.RemoveAll(filepath.Join(shared, "out")))
	require.NoError(t, os.Symlink("private", filepath.Join(shared, "out")))
	_, err := f.Write(t.Context(), "out/deep/x", nil, flow.Bottom())
	require.Equal(t, sessions.ErrNotFound, err)
	_, err = os.Stat(filepath.Join(shared, "private/deep"))
	require.ErrorIs(t, err, os.ErrNotExist, "nothing is made behind a link")
}

// zeros is a stream without an end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// A stream that is too long, or that is cut, leaves the old file.
func TestStreamsThatDoNotEndWell(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	f := a.session(t, ann, sessions.WholeWorkspace())
	_, err := f.Write(t.Context(), "a", []byte("old"), flow.Bottom())
	require.NoError(t, err)
	for want, from := range map[error]io.Reader{
		workspace.ErrUpload: zeros{}, io.ErrUnexpectedEOF: io.MultiReader(strings.NewReader("ne"), iotest.ErrReader(io.ErrUnexpectedEOF)),
	} {
		_, err = f.Copy(t.Context(), "a", from, flow.Bottom(), nil)
		require.ErrorIs(t, err, want)
	}
	require.Equal(t, "old", text(t, f, "a"))
	require.Len(t, paths(t, f, ""), 2)
	names, err := os.ReadDir(workspace.SharedFolder(a.folder))
	require.NoError(t, err)
	require.Len(t, names, 2, "no draft is left")
}

// Of writers who have seen one version, one replaces it.
func TestOneWriterReplacesAVersion(t *testing.T) {
	t.Parallel()
	f := newAgent(t).session(t, ann, sessions.WholeWorkspace())
	w, err := f.Copy(t.Context(), "a", strings.NewReader("old"), flow.Bottom(), func(tag string) bool { return tag == "" })
	require.NoError(t, err)
	require.True(t, w.Made)
	seen := workspace.Tag(w)
	var writers sync.WaitGroup
	var won atomic.Int32
	for i := range 8 {
		writers.Go(func() {
			_, err := f.Copy(t.Context(), "a", strings.NewReader(strconv.Itoa(i)), flow.Bottom(), func(tag string) bool { return tag == seen })
			if err == nil {
				won.Add(1)
			} else if !errors.Is(err, workspace.ErrChanged) {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	require.EqualValues(t, 1, won.Load())
}

// Versions that are written one right after the other have tags of their own.
func TestTagsOfVersions(t *testing.T) {
	t.Parallel()
	f := newAgent(t).session(t, ann, sessions.WholeWorkspace())
	seen := map[string]bool{}
	for range 100 {
		w, err := f.Copy(t.Context(), "a", strings.NewReader("x"), flow.Bottom(), nil)
		require.NoError(t, err)
		file, info, err := f.Open("a")
		require.NoError(t, err)
		require.NoError(t, file.Close())
		require.Equal(t, workspace.Tag(w), workspace.Tag(info))
		seen[workspace.Tag(info)] = true
	}
	require.Len(t, seen, 100)
}

// No session sees a file that is still being written.
func TestDraftsAreHidden(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	f := a.session(t, ann, sessions.WholeWorkspace())
	put(t, workspace.SharedFolder(a.folder), "in/.draft-1", "x")
	require.Empty(t, paths(t, f, "in"))
	_, err := f.Read("in/.draft-1")
	require.Equal(t, sessions.ErrNotFound, err)
	_, err = f.Write(t.Context(), "in/.draft-2", nil, flow.Bottom())
	require.Equal(t, sessions.ErrNotFound, err)
}

// What a stranger writes while a command runs, the command may have read, and what it has written may have it.
func TestACommandMayReadWhatIsWrittenMeanwhile(t *testing.T) {
	t.Parallel()
	f := newAgent(t).session(t, ann, sessions.WholeWorkspace())
	v, err := f.View(t.Context(), flow.Bottom())
	require.NoError(t, err)
	defer v.Close()
	label, err := v.Ended(t.Context())
	require.NoError(t, err)
	require.Equal(t, flow.Trusted, label.Trust())
	_, err = f.Write(t.Context(), "in", nil, flow.NewLabel(flow.Public, flow.Untrusted))
	require.NoError(t, err)
	label, err = v.Ended(t.Context())
	require.NoError(t, err)
	require.Equal(t, flow.Untrusted, label.Trust())
	label, err = f.Reading(t.Context(), "out", func() error { return nil })
	require.NoError(t, err)
	require.Equal(t, flow.Untrusted, label.Trust())
}
