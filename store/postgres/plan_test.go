package postgres_test

import (
	"regexp"
	"strconv"
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
// session's runs that wait, one status of what is unfinished, one kind of pairing, what has one tag,
// or one key, which is one memory for each audience.
var sorted = regexp.MustCompile(`status = \$1 AND status (NOT )?IN|FROM pairings|JOIN memory_tags|m\.mkey = \$`)

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

// However expensive PostgreSQL thinks a read is, it runs it without compiling it.
func TestNoStatementIsCompiled(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), migrated.Copy(t))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(t.Context()) }) // only read from
	_, err = conn.Exec(t.Context(), `SET jit_above_cost = 0`)
	require.NoError(t, err)
	require.NoError(t, postgres.PrepareConnection(t.Context(), conn))
	rows, err := conn.Query(t.Context(), `EXPLAIN (ANALYZE) SELECT count(*) FROM generate_series(1, 10)`)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.NotContains(t, strings.Join(lines, "\n"), "JIT:")
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

// TestRetentionReadsOneRunOfASession: retention asks for each run whether its session has a later one. Sessions have
// thousands of runs, so it must not read all of them each time.
func TestRetentionReadsOneRunOfASession(t *testing.T) {
	t.Parallel()
	url := migrated.Copy(t)
	open(t, url)
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(t.Context()) }) // what it changes is of no use to others
	_, err = conn.Exec(t.Context(), `INSERT INTO runs (id, session_id, partition_no, kind, status, input, route, level, trust, event_key, leader, epoch, attempts,
			reply, error, model, input_tokens, output_tokens, cached_tokens, accepted, started, finished)
		SELECT 'run_' || at, 'ses_' || at % 20, 0, 'message', 'done', '', '', 1, 0, 'event_' || at, '', 0, 1, '', '', '', 0, 0, 0, at, 1, at FROM generate_series(1, 20000) at`)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), `ANALYZE`)
	require.NoError(t, err)
	read := regexp.MustCompile(`using runs_session on runs next \(actual rows=(\d+)`)
	checked := 0
	for _, s := range storetest.HotStatements(t) {
		if !strings.HasPrefix(s.SQL, "DELETE FROM runs WHERE status") {
			continue
		}
		args := []any{int64(1_000_000)}
		for n := range len(s.Args) - 1 {
			args = append(args, "run_"+strconv.Itoa(n+1))
		}
		rows, err := conn.Query(t.Context(), "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) "+postgres.Rebind(s.SQL), args...)
		require.NoError(t, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		plan := strings.Join(lines, "\n")
		found := read.FindStringSubmatch(plan)
		require.NotNil(t, found, plan)
		require.Equal(t, "1", found[1], plan)
		checked++
		break
	}
	require.Equal(t, 1, checked)
}

// byKey are the statements that name one row, or the few rows of one session or lane; wholeScan is a part of a plan that
// looks at all rows of a table or an index.
var (
	wholeScan = regexp.MustCompile(`(Seq Scan|Index (Only )?Scan( Backward)? using \w+) on (sessions|runs|deliveries|events|history)\b[^\n]*\n\s*Filter:`)
	byKey     = regexp.MustCompile(`(FROM|^UPDATE) (sessions|runs|deliveries|events|history)( SET [^;]+)? WHERE (id|skey|event_key|session_id|lane|idempotency) = \$\d+`)
)
