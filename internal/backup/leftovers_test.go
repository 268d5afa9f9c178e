package backup_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/backup"
	"sluice/internal/hostos"
	"sluice/store/sqlite"
	"sluice/store/sqlite/sqlitetest"
)

// A backup that was killed has left a whole copy of the database. The next backup and the next start of the gateway remove
// it, but not while another backup uses it.
func TestLeftoversOfAKilledBackupAreRemoved(t *testing.T) {
	t.Parallel()
	state := sqlitetest.Dir(t)
	db, err := sqlite.Open(t.Context(), sqlite.Config{Dir: state})
	require.NoError(t, err)
	require.NoError(t, db.Close())
	left := filepath.Join(state, ".backup-123")
	leave := func() {
		require.NoError(t, os.Mkdir(left, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(left, sqlite.FileName), []byte("a copy"), 0o600))
	}
	source := backup.Source{State: state, Now: time.Now()}

	leave()
	running, err := os.OpenFile(filepath.Join(state, ".backup-lock"), os.O_RDWR|os.O_CREATE, 0o600)
	require.NoError(t, err)
	require.NoError(t, hostos.Lock(running))
	require.NoError(t, backup.Sweep(state))
	require.DirExists(t, left)
	_, err = backup.Create(t.Context(), source, io.Discard, nil)
	require.ErrorContains(t, err, "another backup or restore")
	require.DirExists(t, left)
	require.NoError(t, running.Close())

	require.NoError(t, backup.Sweep(state))
	require.NoDirExists(t, left)

	leave()
	var archive bytes.Buffer
	_, err = backup.Create(t.Context(), source, &archive, nil)
	require.NoError(t, err)
	require.NoDirExists(t, left)
	found, err := filepath.Glob(filepath.Join(state, ".backup-*"))
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(state, ".backup-lock")}, found)

	leave()
	_, err = backup.Restore(t.Context(), &archive, backup.Target{State: state, Replace: true, Now: time.Now()}, nil)
	require.NoError(t, err)
	require.NoDirExists(t, left)
}

// What a killed process has written of a backup is written over by the next one of the same name, unless somebody writes
// it still.
func TestAnIncompleteFileIsWrittenOver(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "nightly.backup")
	require.NoError(t, os.WriteFile(name, []byte("yesterday"), 0o600))
	require.NoError(t, os.WriteFile(name+".part", []byte("what was written before the power failed"), 0o600))

	f, err := backup.NewFile(name)
	require.NoError(t, err)
	_, err = f.WriteString("today")
	require.NoError(t, err)
	_, err = backup.NewFile(name)
	require.ErrorIs(t, err, hostos.ErrLocked)
	require.NoError(t, f.Keep())
	requireText(t, "today", name)
	require.NoFileExists(t, name+".part")

	f, err = backup.NewFile(name)
	require.NoError(t, err)
	_, err = f.WriteString("half")
	require.NoError(t, err)
	require.NoError(t, f.Drop())
	requireText(t, "today", name)
	require.NoFileExists(t, name+".part")

	_, err = backup.NewFile(filepath.Dir(name))
	require.ErrorContains(t, err, "is a folder")

	link := filepath.Join(t.TempDir(), "null")
	require.NoError(t, os.Symlink(os.DevNull, link))
	_, err = backup.NewFile(link)
	require.ErrorContains(t, err, "is a device or a pipe", "else it would be replaced")
	require.NoFileExists(t, link+".part")
}

func requireText(t *testing.T, want, name string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Clean(name))
	require.NoError(t, err)
	require.Equal(t, want, string(text))
}
