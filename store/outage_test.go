package store_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/store"
	"sluice/store/engine"
)

// flaky is an engine that is there or not, or can only be read.
type flaky struct {
	*scripted
	down, readOnly atomic.Bool
	rows           int // of each query, all empty
}

var errGone = &engine.Unavailable{Reason: "PostgreSQL can't be reached", Fix: "start it"}

func (f *flaky) Apply(ctx context.Context, writes []engine.Write, trail engine.Trail) (int, error) {
	if f.down.Load() || f.readOnly.Load() {
		return -1, errGone
	}
	return f.scripted.Apply(ctx, writes, trail)
}

func (f *flaky) Query(_ context.Context, _ string, _ []any, scan func(engine.Row) error) error {
	if f.down.Load() {
		return errGone
	}
	for range f.rows {
		if err := scan(blank{}); err != nil {
			return err
		}
	}
	return nil
}

// blank is a row of empty columns.
type blank struct{}

func (blank) Scan(...any) error { return nil }

// lines is a log that many may write to.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(word string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), word)
}

// However many callers meet an outage, one line says that it began and one that it is over.
func TestOutageIsSaidOnce(t *testing.T) {
	t.Parallel()
	log, engine := &lines{}, &flaky{scripted: &scripted{gate: make(chan struct{}), judge: func(string, []string) error { return nil }}}
	close(engine.gate)
	db := store.New(engine, slog.New(slog.NewTextHandler(log, nil)))
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	everybody := func() {
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				for range 10 { // what comes of them the log has to say
					_, _ = db.Event(t.Context(), "x")
					_ = db.Commit(t.Context(), ledger.Change{TrimHistory: []ledger.HistoryTrim{{Lane: "x"}}})
				}
			})
		}
		all.Wait()
	}
	everybody()
	require.Zero(t, log.count("\n"))
	for n := 1; n <= 3; n++ {
		engine.down.Store(true)
		everybody()
		require.Equal(t, n, log.count("database is unavailable"))
		require.Equal(t, n-1, log.count("database is available again"))
		engine.down.Store(false)
		everybody()
		require.Equal(t, n, log.count("database is available again"))
	}
	engine.readOnly.Store(true)
	everybody()
	require.Equal(t, 4, log.count("database is unavailable"))
	require.Equal(t, 3, log.count("database is available again"), "reads that work do not end an outage of writes")
	engine.readOnly.Store(false)
	everybody()
	require.Equal(t, 8, log.count("\n"))
}

// A page of a list that is bounded in bytes shows like any other read that the database is unavailable or back, also where it
// stops at its bound.
func TestOutageIsSeenByLists(t *testing.T) {
	t.Parallel()
	for _, rows := range []int{0, 3} {
		log, engine := &lines{}, &flaky{scripted: &scripted{gate: make(chan struct{}), judge: func(string, []string) error { return nil }}, rows: rows}
		close(engine.gate)
		db := store.New(engine, slog.New(slog.NewTextHandler(log, nil)))
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		list := func() error {
			_, err := db.ListAudit(t.Context(), ledger.AuditQuery{Limit: 10, MaxLevel: flow.Restricted, Bound: &ledger.Bound{Bytes: 0}})
			return err
		}
		engine.down.Store(true)
		require.ErrorIs(t, list(), errGone)
		require.Equal(t, 1, log.count("database is unavailable"))
		engine.down.Store(false)
		require.NoError(t, list())
		require.Equal(t, 1, log.count("database is available again"), "%d rows", rows)
	}
}
