package archive

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The error of a folder without backups mentions a time only if one was given.
func TestChooseFromAFolderWithoutBackups(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for at, want := range map[string]string{
		"":                     " has no backups: their names would be like " + nameFormat,
		"2026-11-25T18:00:00Z": " has no backups that began at that time or before: their names would be like " + nameFormat,
	} {
		_, err := choose(dir, at)
		require.EqualError(t, err, dir+want)
	}
	_, err := choose(filepath.Join(dir, "none"), "")
	require.ErrorContains(t, err, "does not exist: name a backup, or a folder with backups")
}
