package postgres

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"sluice/store/engine"
	"sluice/store/storetest"
)

// held is a database both of whose batches of brief reads wait for a lock, until release is called.
func held(t *testing.T) (e *database, release func()) {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), storetest.Postgres(t))
	require.NoError(t, err)
	e = &database{pool: pool, briefs: newBriefs(pool, connections, slog.New(slog.DiscardHandler))}
	e.briefs.patience = time.Hour
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	lock, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	_, err = lock.Exec(t.Context(), `SELECT pg_advisory_lock(1)`)
	require.NoError(t, err)
	stuck := make(chan error, briefBatches)
	for range briefBatches {
		go func() {
			stuck <- e.Query(t.Context(), engine.Brief+`SELECT pg_advisory_lock_shared(1)::text`, nil, func(engine.Row) error { return nil })
		}()
	}
	locked(t, lock, briefBatches)
	return e, func() {
		_, err := lock.Exec(t.Context(), `SELECT pg_advisory_unlock(1)`)
		require.NoError(t, err)
		lock.Release()
		for range briefBatches {
			require.NoError(t, <-stuck)
		}
	}
}

// locked returns when n reads wait for a lock.
func locked(t *testing.T, conn *pgxpool.Conn, n int) {
	t.Helper()
	for there := 0; there < n; {
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity, pg_sleep(0.01)
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&there))
	}
}

// waits returns when n brief reads wait.
func (b *briefs) waits(n int) {
	for there := -1; there != n; runtime.Gosched() {
		b.mu.Lock()
		there = len(b.waiting)
		b.mu.Unlock()
	}
}

type seen struct {
	transaction, argument int64
	err                   error
}

func read(ctx context.Context, e *database, sql string, args ...any) (s seen) {
	s.err = e.Query(ctx, engine.Brief+sql, args, func(row engine.Row) error { return row.Scan(&s.transaction, &s.argument) })
	return s
}

func TestBriefReadsThatWaitAreSentTogether(t *testing.T) {
	t.Parallel()
	e, release := held(t)
	answers := make(chan seen, 10)
	for i := range cap(answers) {
		go func() {
			answers <- read(t.Context(), e, `SELECT txid_current()::bigint, CAST(? AS bigint)`, int64(i))
		}()
	}
	e.briefs.waits(cap(answers))
	release()
	transactions, arguments := map[int64]bool{}, map[int64]bool{}
	for range cap(answers) {
		a := <-answers
		require.NoError(t, a.err)
		transactions[a.transaction], arguments[a.argument] = true, true
	}
	require.Len(t, arguments, cap(answers), "each caller gets its own rows")
	require.Len(t, transactions, 1)
}

// A read does not wait for slow batches, as on a network that loses packets.
func TestABriefReadDoesNotWaitForSlowOnes(t *testing.T) {
	t.Parallel()
	e, release := held(t)
	e.briefs.patience = time.Millisecond
	for n := range int64(10) {
		require.Equal(t, seen{transaction: 1, argument: n}, read(t.Context(), e, `SELECT 1, CAST(? AS bigint)`, n))
	}
	release()
}

// Slow reads leave connections for the writers and for other reads, also in a small pool.
func TestBatchesOfASmallPool(t *testing.T) {
	t.Parallel()
	for of, want := range map[int]int{connections: slowBatches, 9: 3, 6: briefBatches, 1: briefBatches} {
		require.Equal(t, want, newBriefs(nil, of, slog.New(slog.DiscardHandler)).batchesMax, "%d connections", of)
	}
}

func TestABriefReadThatFailsSpoilsNoOther(t *testing.T) {
	t.Parallel()
	e, release := held(t)
	answers, failures := make(chan seen, 4), make(chan seen, 1)
	go func() { failures <- read(t.Context(), e, `SELECT 1, 1 / CAST(? AS bigint)`, int64(0)) }()
	e.briefs.waits(1)
	for range cap(answers) {
		go func() { answers <- read(t.Context(), e, `SELECT 1::bigint, CAST(? AS bigint)`, int64(7)) }()
	}
	e.briefs.waits(1 + cap(answers))
	release()
	require.ErrorContains(t, (<-failures).err, "division by zero")
	for range cap(answers) {
		require.Equal(t, seen{transaction: 1, argument: 7}, <-answers)
	}
}

func TestABriefReadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	e, release := held(t)
	defer release()
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan seen, 1)
	go func() { gone <- read(ctx, e, `SELECT 1::bigint, 2::bigint`) }()
	e.briefs.waits(1)
	cancel()
	require.ErrorIs(t, (<-gone).err, context.Canceled)
}

// A batch that nobody waits for any more does not hold up the end of the program.
func TestCloseEndsABatchOfBriefReads(t *testing.T) {
	t.Parallel()
	e, release := held(t)
	lock, err := e.pool.Acquire(t.Context())
	require.NoError(t, err)
	defer lock.Release()
	_, err = lock.Exec(t.Context(), `SELECT pg_advisory_lock(2)`)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan seen, 1)
	go func() { gone <- read(ctx, e, `SELECT 1::bigint, length(pg_advisory_lock_shared(2)::text)`) }()
	e.briefs.waits(1)
	release()
	locked(t, lock, 1)
	cancel()
	require.ErrorIs(t, (<-gone).err, context.Canceled)
	began := time.Now()
	e.briefs.close()
	require.Less(t, time.Since(began), readTimeout/2)
}

// A panic in a batch is logged, and each caller runs its read itself.
func TestABatchOfBriefReadsThatPanics(t *testing.T) {
	t.Parallel()
	var logs bytes.Buffer
	b := newBriefs(nil, connections, slog.New(slog.NewTextHandler(&logs, nil)))
	rows, err := b.read(t.Context(), "SELECT 1", nil)
	require.NoError(t, err)
	require.Nil(t, rows)
	b.close()
	require.Contains(t, logs.String(), "nil pointer")
	require.Contains(t, logs.String(), "brief.go", "the stack")
	require.Zero(t, b.running)
}

func TestTooManyBriefReadsGoTheirOwnWay(t *testing.T) {
	t.Parallel()
	e, release := held(t)
	answers := make(chan seen, briefWaiting)
	for range cap(answers) {
		go func() { answers <- read(t.Context(), e, `SELECT 1::bigint, 2::bigint`) }()
	}
	e.briefs.waits(briefWaiting)
	require.Equal(t, seen{transaction: 1, argument: 2}, read(t.Context(), e, `SELECT 1::bigint, 2::bigint`))
	release()
	for range cap(answers) {
		require.NoError(t, (<-answers).err)
	}
}

// TestBriefRowsAreScanned reads each type that a column or a number of the program has, and those that fit none.
func TestBriefRowsAreScanned(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), storetest.Postgres(t))
	require.NoError(t, err)
	e := &database{pool: pool, briefs: newBriefs(pool, connections, slog.New(slog.DiscardHandler))}
	defer func() { require.NoError(t, e.Close()) }()
	var text string
	var small, whole, count int
	var long int64
	var raw []byte
	var flag bool
	var null *string
	rows := 0
	err = e.Query(t.Context(), engine.Brief+`SELECT 'ä' || n, CAST(-3 AS smallint), CAST(-70000 AS int), CAST(-5000000000 AS bigint), n,
		'\x00ff'::bytea, n > 1, CAST(NULL AS text) FROM generate_series(1, 3) n`, nil, func(row engine.Row) error {
		rows++
		err := row.Scan(&text, &small, &whole, &long, &count, &raw, &flag, &null)
		require.Equal(t, fmt.Sprint("ä", rows), text)
		require.Equal(t, []any{-3, -70000, int64(-5000000000), rows, rows > 1}, []any{small, whole, long, count, flag})
		require.Equal(t, []byte{0, 255}, raw)
		require.Nil(t, null)
		return err
	})
	require.NoError(t, err)
	require.Equal(t, 3, rows)
	scan := func(dest ...any) error {
		return e.Query(t.Context(), engine.Brief+`SELECT CAST(NULL AS text), 'x'`, nil, func(row engine.Row) error { return row.Scan(dest...) })
	}
	require.Error(t, scan(&text, &text), "NULL is not a text")
	require.Error(t, scan(&null, &long), "a text is not a number")
	require.Error(t, scan(&null), "a column is left over")
}
