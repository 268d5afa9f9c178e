package sqlite_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/store"
	"sluice/store/sqlite"
	"sluice/store/sqlite/sqlitetest"
	"sluice/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, dir string) *store.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) *store.DB { return open(t, sqlitetest.Dir(t)) })
}

// The number of partitions is that of the first start, also where that start ended early.
func TestPartitionsAreFixed(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir())
	require.NoError(t, db.FixPartitions(t.Context(), 16))
	require.NoError(t, db.FixPartitions(t.Context(), 16))
	require.EqualValues(t, 1, storetest.Take(t, db, 15, "one"))
	for _, other := range []int{8, 32} {
		require.ErrorContains(t, db.FixPartitions(t.Context(), other), "its work is divided into 16 partitions, but the configuration says")
		require.ErrorContains(t, db.FixPartitions(t.Context(), other), "set limits.partitions to 16")
	}
}
