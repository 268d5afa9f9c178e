package postgres

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"sluice/store/engine"
	"sluice/store/storetest"
)

// The time for an entry does not grow with the other entries of its transaction: none of them is read for it.
func TestEntriesAreNotReadForEachOther(t *testing.T) {
	t.Parallel()
	url := storetest.Postgres(t)
	db, err := Open(t.Context(), Config{URL: url})
	require.NoError(t, err)
	defer db.Close() //nolint:errcheck // the end of the test
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(t.Context()) //nolint:errcheck // only read from
	rows, err := conn.Query(t.Context(), `EXPLAIN `+addToFree, columns(make(engine.Trail, 3000))...)
	require.NoError(t, err)
	plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	_, links, found := strings.Cut(strings.Join(plan, "\n"), "CTE links")
	require.True(t, found)
	links, _, found = strings.Cut(links, "CTE added")
	require.True(t, found)
	require.NotContains(t, links, "entries")
}
