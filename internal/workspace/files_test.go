package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/internal/workspace"
	"sluice/policy/flow"
	"sluice/sessions"
)

// all opens a session's own folder; any other access is to a shared one.
var all = sessions.FileAccess{Read: []string{""}, Write: []string{""}}

func open(t testing.TB, dir string, access sessions.FileAccess) *workspace.Files {
	t.Helper()
	space := workspace.Space{Session: "sess_0123456789ab", Own: dir}
	if len(access.Read) != 1 || access.Read[0] != "" {
		space.Own, space.Shared, space.Access = t.TempDir(), dir, access
	}
	f, err := new(workspace.Opener).Open(space)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

// put makes a file past all that is tested.
func put(t *testing.T, dir, name, content string) {
	t.Helper()
	full := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o700))
	require.NoError(t, os.WriteFile(full, []byte(content), 0o600))
}

func TestWriteReadRemove(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := open(t, dir, all)
	made, err := f.Write(t.Context(), "a/b/c.txt", []byte("one"), flow.Bottom())
	require.NoError(t, err)
	require.True(t, made)
	require.NoError(t, os.Chmod(filepath.Join(dir, "a/b/c.txt"), 0o700))
	made, err = f.Write(t.Context(), "/workspace/a/b/../b/c.txt", []byte("two"), flow.Bottom())
	require.NoError(t, err)
	require.False(t, made)
	info, err := os.Stat(filepath.Join(dir, "a/b/c.txt"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode(), "a script stays one")
	content, err := f.Read("a/b/c.txt")
	require.NoError(t, err)
	require.Equal(t, "two", string(content))
	require.ErrorIs(t, f.Remove("a/b", flow.Bottom(), nil), workspace.ErrNotEmpty)
	require.NoError(t, f.Remove("a/b/c.txt", flow.Bottom(), nil))
	require.NoError(t, f.Remove("a/b", flow.Bottom(), nil))
	require.ErrorIs(t, f.Remove("a/b", flow.Bottom(), nil), sessions.ErrNotFound)
	entries, err := os.ReadDir(filepath.Join(dir, "a"))
	require.NoError(t, err)
	require.Empty(t, entries, "no drafts are left")
}

// Only the parts that the session may use are there; no link leads from one of them to another part of the folder.
func TestParts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "docs/a.md", "a")
	put(t, dir, "docs2/b.md", "b")
	put(t, dir, "private/key", "k")
	put(t, dir, "notes.txt", "n")
	require.NoError(t, os.Symlink("../private/key", filepath.Join(dir, "docs/link")))
	require.NoError(t, os.Symlink("../private", filepath.Join(dir, "docs/folder")))
	require.NoError(t, os.Symlink("private/key", filepath.Join(dir, "one")))
	f := open(t, dir, sessions.FileAccess{Read: []string{"docs", "notes.txt", "one", "../x", "/etc"}, Write: []string{"out/deep", "todo.md"}})
	for name, want := range map[string]error{
		"docs/a.md": nil, "notes.txt": nil, "docs2/b.md": sessions.ErrNotFound, "private/key": sessions.ErrNotFound,
		"docs/link": sessions.ErrNotFound, "docs/folder/key": sessions.ErrNotFound, "one": sessions.ErrNotFound,
		"docs/../private/key": sessions.ErrNotFound, "docs": workspace.ErrFolder, "/etc/passwd": sessions.ErrNotFound, "todo.md": sessions.ErrNotFound,
	} {
		_, err := f.Read(name)
		require.Equal(t, want, err, name)
	}
	for name, want := range map[string]error{
		"out/deep/x": nil, "out/deep/more/x": nil, "todo.md": nil, "out/x": sessions.ErrNotFound, "out/deep/folder/": workspace.ErrFolder, "docs/a.md": workspace.ErrReadOnly,
		"notes.txt": workspace.ErrReadOnly, "private/key": sessions.ErrNotFound,
	} {
		_, err := f.Write(t.Context(), name, []byte("x"), flow.Bottom())
		require.Equal(t, want, err, name)
	}
	content, err := f.Read("todo.md")
	require.NoError(t, err, "what may be written may be read")
	require.Equal(t, "x", string(content))
	require.ErrorIs(t, f.Remove("notes.txt", flow.Bottom(), nil), workspace.ErrReadOnly)
	entries, more, err := f.List(t.Context(), "")
	require.NoError(t, err)
	require.False(t, more)
	require.Equal(t, []workspace.Entry{
		{Path: ".sessions/sess_0123456789ab", Type: "folder"},
		{Path: "docs", Type: "folder"},
		{Path: "notes.txt", Type: "file", Size: 1},
		{Path: "one", Type: "link"},
		{Path: "out/deep", Type: "folder"},
		{Path: "todo.md", Type: "file", Size: 1},
	}, entries)
	var seen []string
	_, err = f.Walk(t.Context(), "", func(e workspace.Entry, read func() ([]byte, error)) bool {
		content, err := read()
		require.NoError(t, err)
		seen = append(seen, e.Path+"="+string(content))
		return true
	})
	require.NoError(t, err)
	require.Equal(t, []string{"docs/a.md=a", "notes.txt=n", "out/deep/more/x=x", "out/deep/x=x", "todo.md=x"}, seen)
	_, err = f.Walk(t.Context(), "private", nil)
	require.ErrorIs(t, err, sessions.ErrNotFound)
}

// No path that anybody can think of reads what is outside.
func TestNoPathLeadsOut(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	dir := filepath.Join(state, "work")
	put(t, state, "secret", "token")
	put(t, dir, "docs/a", "a")
	require.NoError(t, os.Symlink("..", filepath.Join(dir, "docs/up")))
	require.NoError(t, os.Symlink("../..", filepath.Join(dir, "docs/out")))
	files := []*workspace.Files{open(t, dir, all), open(t, dir, sessions.FileAccess{Read: []string{"docs"}})}
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"..", ".", "docs", "up", "out", "secret", "work", "", "a", "/workspace", state}), 1, 8).Draw(t, "names")
		for _, f := range files {
			if content, err := f.Read(strings.Join(names, "/")); err == nil && string(content) != "a" {
				t.Fatalf("%v reads %q", names, content)
			}
		}
	})
}

func TestGlob(t *testing.T) {
	t.Parallel()
	for pattern, c := range map[string]struct{ yes, no string }{
		"*.go":            {"a/b.go", "a/b.goo"},
		"src/*.go":        {"src/b.go", "src/a/b.go"},
		"src/**/*.go":     {"src/a/c/b.go", "lib/b.go"},
		"**/b.go":         {"b.go", "ab.go"},
		"src/**":          {"src/a/b", "srcs/a"},
		"a?.{ts,tsx}":     {"x/ab.tsx", "x/abc.ts"},
		"[a-c]x":          {"bx", "dx"},
		"[!a-c]x":         {"dx", "bx"},
		"a+(b)|c.$^":      {"a+(b)|c.$^", "ab"},
		"/workspace/a/b*": {"a/bc", "b"},
		"ü?":              {"üß", "ü"},
	} {
		g, err := workspace.ParseGlob(pattern)
		require.NoError(t, err, pattern)
		require.True(t, g.Match(c.yes), pattern)
		require.False(t, g.Match(c.no), pattern)
	}
	for _, bad := range []string{"", "[", "[]", "{a", "[z-a]", strings.Repeat("x", 1001)} {
		_, err := workspace.ParseGlob(bad)
		require.Error(t, err, bad)
	}
}

func FuzzParseGlob(f *testing.F) {
	f.Add("src/**/*.{go,mod}", "src/a.go")
	f.Add("[!a]", "b")
	f.Fuzz(func(_ *testing.T, pattern, name string) {
		if g, err := workspace.ParseGlob(pattern); err == nil {
			g.Match(name)
		}
	})
}
