package hostos

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFoldersOfEachSystem(t *testing.T) {
	t.Parallel()
	none := func(string) (string, bool) { return "", false }
	set := func(name string) (string, bool) {
		return map[string]string{"XDG_CONFIG_HOME": "/x", "ProgramData": "/p"}[name], true
	}
	require.Equal(t, "~/.local/share/sluice", dataFolder("linux"))
	require.Equal(t, "~/Library/Application Support/sluice", dataFolder("darwin"))
	require.Equal(t, "~/AppData/Local/sluice", dataFolder("windows"))

	require.Equal(t, filepath.FromSlash("/home/a/.config/sluice"), configFolder("linux", none, "/home/a"))
	require.Equal(t, filepath.FromSlash("/x/sluice"), configFolder("linux", set, "/home/a"))
	require.Equal(t, filepath.FromSlash("/Users/a/Library/Application Support/sluice"), configFolder("darwin", none, "/Users/a"))
	require.Equal(t, filepath.FromSlash("/a/AppData/Roaming/sluice"), configFolder("windows", none, "/a"))
	require.Empty(t, configFolder("linux", none, ""))

	config, state := systemFolders("linux", none)
	require.Equal(t, []string{"/etc/sluice", "/var/lib/sluice"}, []string{config, state})
	config, state = systemFolders("windows", set)
	require.Equal(t, []string{filepath.FromSlash("/p/sluice"), filepath.FromSlash("/p/sluice/state")}, []string{config, state})
	config, _ = systemFolders("darwin", none)
	require.Equal(t, "/Library/Application Support/sluice", config)
}
