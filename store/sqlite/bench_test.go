package sqlite_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/store"
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

func BenchmarkCall(b *testing.B) {
	storetest.BenchmarkCall(b, func(ctx context.Context) (*store.DB, error) {
		return sqlite.Open(ctx, sqlite.Config{Dir: b.TempDir(), Log: slog.New(slog.DiscardHandler)})
	})
}
