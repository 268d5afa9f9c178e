package backup_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/backup"
	"sluice/store/sqlite"
	"sluice/store/sqlite/sqlitetest"
)

// A restore that can't put the configuration in its place changes nothing, also with Replace: the files of the backup must
// never stand beside the database from before.
func TestAConfigurationInTheWayIsFoundFirst(t *testing.T) {
	t.Parallel()
	state, folder := sqlitetest.Dir(t), t.TempDir()
	db, err := sqlite.Open(t.Context(), sqlite.Config{Dir: state})
	require.NoError(t, err)
	require.NoError(t, db.Close())
	token, config := filepath.Join(state, "token"), filepath.Join(folder, "sluice.yaml")
	require.NoError(t, os.WriteFile(token, []byte("old"), 0o600))
	require.NoError(t, os.WriteFile(config, []byte("gateway: {}\n"), 0o600))
	var archive bytes.Buffer
	_, err = backup.Create(t.Context(), backup.Source{Version: "test", State: state, Config: config, Now: time.Now()}, &archive, nil)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(token, []byte("new"), 0o600))

	target := backup.Target{State: state, Config: config, Replace: true, Now: time.Now()}
	_, err = backup.Restore(t.Context(), bytes.NewReader(archive.Bytes()), target, nil)
	require.ErrorContains(t, err, "exists already")
	now, err := os.ReadFile(token)
	require.NoError(t, err)
	require.Equal(t, "new", string(now))

	target.Config = filepath.Join(folder, "restored.yaml")
	done, err := backup.Restore(t.Context(), bytes.NewReader(archive.Bytes()), target, nil)
	require.NoError(t, err)
	now, err = os.ReadFile(token)
	require.NoError(t, err)
	require.Equal(t, "old", string(now))
	kept, err := os.ReadFile(filepath.Join(done.Kept, "token"))
	require.NoError(t, err)
	require.Equal(t, "new", string(kept))
}
