package postgres_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"sluice/store/postgres"
	"sluice/store/storetest"
)

func TestRebind(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a = $1 AND b = $2  FOR SHARE", postgres.Rebind("a = ? AND b = ? /*pg FOR SHARE*/"))
}

// sorted are the few statements that sort, and what they sort is small: a
// session's runs that wait, one status of what is unfinished, one kind of pairing, what has one tag.
var sorted = regexp.MustCompile(`status = \$1 AND status (NOT )?IN|FROM pairings|JOIN memory_tags`)

// TestPlans forbids the planner all that reads or sorts whole tables: where it does so still, there is no index.
func TestPlans(t *testing.T) {
	t.Parallel()
	url := migrated.Copy(t)
	open(t, url)
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(t.Context()) }) // only read from
	_, err = conn.Exec(t.Context(), `SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off`)
	require.NoError(t, err)
	for _, s := range storetest.HotStatements(t) {
		text := postgres.Rebind(s.SQL)
		rows, err := conn.Query(t.Context(), "EXPLAIN "+text, s.Args...)
		require.NoError(t, err, text)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err, text)
		plan := strings.Join(lines, "\n")
		require.NotContains(t, plan, "Seq Scan", text)
		if !sorted.MatchString(text) {
			require.NotRegexp(t, `(^|->  )Sort`, plan, text)
		}
	}
}

// TestPlansWithoutStatistics: a new database has no statistics, and its tables grow before it gets some. The rows that
// each message needs must be found by their keys then too.
func TestPlansWithoutStatistics(t *testing.T) {
	t.Parallel()
	url := migrated.Copy(t)
	open(t, url)
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(t.Context()) }) // only read from
	_, err = conn.Exec(t.Context(), `SET plan_cache_mode = force_generic_plan`)
	require.NoError(t, err)
	checked := 0
	for _, s := range storetest.HotStatements(t) {
		text := postgres.Rebind(s.SQL)
		if !byKey.MatchString(text) {
			continue
		}
		rows, err := conn.Query(t.Context(), "EXPLAIN "+text, s.Args...)
		require.NoError(t, err, text)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err, text)
		require.NotRegexp(t, wholeScan, strings.Join(lines, "\n"), text)
		checked++
	}
	require.GreaterOrEqual(t, checked, 8)
}

// byKey are the statements that name one row, or the few rows of one session or lane; wholeScan is a part of a plan that
// looks at all rows of a table or an index.
var (
	wholeScan = regexp.MustCompile(`(Seq Scan|Index (Only )?Scan( Backward)? using \w+) on (sessions|runs|deliveries|events|history)\b[^\n]*\n\s*Filter:`)
	byKey     = regexp.MustCompile(`(FROM|^UPDATE) (sessions|runs|deliveries|events|history)( SET [^;]+)? WHERE (id|skey|event_key|session_id|lane|idempotency) = \$\d+`)
)
