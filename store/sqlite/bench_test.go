package sqlite_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/store/sqlite"
	"sluice/store/storetest"
)

func BenchmarkMessage(b *testing.B) {
	db, err := sqlite.Open(b.Context(), sqlite.Config{Dir: b.TempDir(), Log: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	defer db.Close() //nolint:errcheck // the benchmark is over
	storetest.BenchmarkMessage(b, db)
}

func BenchmarkTold(b *testing.B) {
	db, err := sqlite.Open(b.Context(), sqlite.Config{Dir: b.TempDir(), Log: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	defer db.Close() //nolint:errcheck // the benchmark is over
	storetest.BenchmarkAudited(b, db)
}
