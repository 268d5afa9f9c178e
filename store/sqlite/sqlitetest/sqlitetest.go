// Package sqlitetest provides migrated empty databases for tests, because a migration takes longer than most tests.
package sqlitetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/store/sqlite"
)

// empty is the file of a migrated empty database.
var empty = sync.OnceValues(func() (_ []byte, err error) { //nolint:gochecknoglobals // one for all tests of a process
	dir, err := os.MkdirTemp("", "sluice-test-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := sqlite.Open(context.Background(), sqlite.Config{Dir: dir})
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, sqlite.FileName))
})

// Dir returns a new state folder with an empty database.
func Dir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	Prepare(t, dir)
	return dir
}

// Prepare puts an empty database into a state folder.
func Prepare(t require.TestingT, dir string) {
	file, err := empty()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, sqlite.FileName), file, 0o600))
}
