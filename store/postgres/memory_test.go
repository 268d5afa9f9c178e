package postgres_test

import (
	"testing"

	"sluice/sessions"
	"sluice/store/storetest"
)

// Whatever is asked, memory answers, and with nothing that is hidden.
func FuzzMemorySearch(f *testing.F) {
	db := open(f, migrated.Copy(f))
	storetest.FuzzMemorySearch(f, db, func(s sessions.MemorySave) error { return db.SaveMemory(f.Context(), s) })
}
