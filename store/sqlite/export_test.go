package sqlite

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/store"
)

// Explain is explain for tests.
func Explain(err error, dir string) error { return explain(err, dir) }

// OpenAltered opens a database. Alter runs a statement at its writing connection, which must be at rest.
func OpenAltered(ctx context.Context, t *testing.T, c Config) (db *store.DB, alter func(sql string)) {
	t.Helper()
	e, err := openEngine(ctx, c)
	require.NoError(t, err)
	return store.New(e, nil), func(sql string) {
		_, err := e.stmts.exec(sql, nil)
		require.NoError(t, err)
	}
}
