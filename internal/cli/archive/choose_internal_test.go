package archive

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A folder without a backup is reported as one, and a time is mentioned only if one was given.
func TestChooseFromAFolderWithoutBackups(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for at, want := range map[string]string{
		"":                     " has no backup: their names are like " + nameFormat,
		"2026-11-25T18:00:00Z": " has no backup that began at that time or before: their names are like " + nameFormat,
	} {
		_, err := choose(dir, at)
		require.EqualError(t, err, dir+want)
	}
	_, err := choose(filepath.Join(dir, "none"), "")
	require.ErrorContains(t, err, "does not exist: name a backup, or a folder with backups")
}
