package sqlite_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/sessions"
	"sluice/store/sqlite"
	"sluice/store/storetest"
)

// Whatever is asked, memory answers, and with nothing that is hidden.
func FuzzMemorySearch(f *testing.F) {
	db, err := sqlite.Open(f.Context(), sqlite.Config{Dir: f.TempDir()})
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, db.Close()) })
	storetest.FuzzMemorySearch(f, db, func(s sessions.MemorySave) error { return db.SaveMemory(f.Context(), s) })
}
