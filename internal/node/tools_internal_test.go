package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/node/protocol"
)

func TestFilesStayInTheFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tools := Tools{Folder: filepath.Join(dir, "share")}
	require.NoError(t, os.MkdirAll(filepath.Join(tools.Folder, "sub"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "secret"), []byte("secret"), 0o600))
	require.NoError(t, os.Symlink(filepath.Join(dir, "secret"), filepath.Join(tools.Folder, "link")))
	require.NoError(t, os.Symlink(dir, filepath.Join(tools.Folder, "up")))
	text, err := tools.write(t.Context(), content{Path: "sub/a.txt", Text: "hello"})
	require.NoError(t, err)
	require.Equal(t, "written", text)
	text, err = tools.read(t.Context(), place{Path: "sub/a.txt"})
	require.NoError(t, err)
	require.Equal(t, "hello", text)
	text, err = tools.list(t.Context(), place{Path: "."})
	require.NoError(t, err)
	require.Equal(t, "link\nsub/\nup", text)
	for _, path := range []string{"link", "up/secret", "../secret", filepath.Join(dir, "secret"), "sub", "", "gone"} {
		_, err = tools.read(t.Context(), place{Path: path})
		require.Error(t, err, path)
	}
	for _, path := range []string{"up/secret", "up/new", "../secret", filepath.Join(dir, "secret"), "sub", "", "gone/new"} {
		_, err = tools.write(t.Context(), content{Path: path, Text: "no"})
		require.Error(t, err, path)
	}
	_, err = tools.write(t.Context(), content{Path: "link", Text: "no"})
	require.Error(t, err)
	_, err = tools.write(t.Context(), content{Path: "big", Text: strings.Repeat("x", fileMax+1)})
	require.ErrorContains(t, err, "maximum")
	secret, err := os.ReadFile(filepath.Join(dir, "secret"))
	require.NoError(t, err)
	require.Equal(t, "secret", string(secret))
}

func TestOnlyAllowedCommands(t *testing.T) {
	t.Parallel()
	tools := Tools{Commands: [][]string{{"uptime"}, {"git", "status", "*"}, {"*"}}}
	for _, yes := range [][]string{{"uptime"}, {"git", "status"}, {"git", "status", "-s", "x"}, {"*"}} {
		require.True(t, tools.permits(yes), yes)
	}
	for _, no := range [][]string{nil, {}, {"uptime", "-p"}, {"git"}, {"git", "push"}, {"git status"}, {"sh", "-c", "uptime"}, {""}} {
		require.False(t, tools.permits(no), no)
	}
}

func TestTheStateSurvives(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	_, err := Open(dir)
	require.ErrorIs(t, err, ErrNotPaired)
	d, err := Create(dir, State{ID: "n", Token: "secret"})
	require.NoError(t, err)
	_, err = Create(dir, State{})
	require.ErrorContains(t, err, "has a node already")
	for _, id := range []string{"a", "b"} {
		require.NoError(t, d.Say(protocol.Frame{Kind: protocol.Message, ID: id, Text: "x"}))
	}
	require.Error(t, d.Say(protocol.Frame{Kind: protocol.Message, ID: "c"}), "no text")
	require.NoError(t, d.Acknowledged("a"))
	fresh, err := d.Take(Received{ID: "r", Text: "hi"})
	require.NoError(t, err)
	require.True(t, fresh)
	d, err = Open(dir)
	require.NoError(t, err)
	require.Equal(t, "b", d.State().Outbox[0].ID)
	require.Len(t, d.State().Inbox, 1)
	for range 2 {
		fresh, err = d.Take(Received{ID: "r", Text: "hi"})
		require.NoError(t, err)
		require.False(t, fresh)
		if len(d.State().Inbox) > 0 {
			require.NoError(t, d.Shown("r"))
		}
	}
	info, err := os.Stat(filepath.Join(dir, stateFile))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}
