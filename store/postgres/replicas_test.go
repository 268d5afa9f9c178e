package postgres_test

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/limits"
	"sluice/sessions"
	"sluice/store/storetest"
)

// TestTakeWaitsForTheFence holds an owner's transaction up after it has passed
// the fence. Another replica's take may not return before that one has
// committed: else the new owner would act on rows that still change under it.
func TestTakeWaitsForTheFence(t *testing.T) {
	t.Parallel()
	url := migrated.Copy(t)
	owner, other := open(t, url), open(t, url)
	epoch := storetest.Take(t, owner, 1, "owner")
	change := sessions.Change{}
	for _, id := range []sessions.RunID{"run_free", "run_held"} {
		r := sessions.Run{ID: id, Session: "sess_1", Partition: 1, Status: sessions.RunQueued}
		require.NoError(t, owner.CommitSession(t.Context(), sessions.Change{Enqueue: []sessions.Run{r}}))
		r.Status, r.Epoch = sessions.RunRunning, epoch
		change.Runs = append(change.Runs, sessions.RunMove{From: sessions.RunQueued, Run: r})
	}
	release := hold(t, url, `SELECT 1 FROM runs WHERE id = 'run_held' FOR UPDATE`)

	committed, taken := make(chan error, 1), make(chan error, 1)
	go func() { committed <- owner.CommitSession(t.Context(), change) }()
	require.True(t, waiters(t, url, 1, taken))
	go func() {
		_, err := other.TakePartition(t.Context(), 1, "other", epoch)
		taken <- err
	}()
	require.True(t, waiters(t, url, 2, taken), "the take did not wait")
	release()
	require.NoError(t, <-taken)
	r, err := other.Run(t.Context(), "run_free")
	require.NoError(t, err)
	require.Equal(t, sessions.RunRunning, r.Status)
	require.NoError(t, <-committed)
	change.Runs[0].From, change.Runs[0].Run.Status = sessions.RunRunning, sessions.RunDone
	require.ErrorIs(t, owner.CommitSession(t.Context(), change), sessions.ErrFenced)
}

// hold takes a lock until release is called.
func hold(t *testing.T, url, sql string) (release func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), sql)
	require.NoError(t, err)
	return func() {
		require.NoError(t, tx.Rollback(t.Context()))
		require.NoError(t, conn.Close(t.Context()))
	}
}

// waiters returns true when n transactions wait for a lock, false when one of results is there before that.
func waiters(t *testing.T, url string, n int, results <-chan error) bool {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(t.Context()) //nolint:errcheck // only read from
	for {
		var waiting int
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity, pg_sleep(0.01)
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&waiting))
		if waiting >= n {
			return true
		}
		if len(results) > 0 {
			return false
		}
	}
}

// TestDeadlocksAreUndone lets two gateways change the same rows in opposite order.
func TestDeadlocksAreUndone(t *testing.T) {
	t.Parallel()
	url := migrated.Copy(t)
	first, second := open(t, url), open(t, url)
	var rows []ledger.Delivery
	for i := range 300 {
		rows = append(rows, ledger.Delivery{ID: ledger.DeliveryID(fmt.Sprint("dlv_", i)), Lane: "c|x", Status: ledger.DeliveryQueued})
	}
	require.NoError(t, first.Commit(t.Context(), ledger.Change{Deliver: rows}))
	var forth, back []ledger.DeliveryMove
	for i := range rows {
		forth = append(forth, ledger.DeliveryMove{From: ledger.DeliveryQueued, Delivery: rows[i]})
		back = append(back, ledger.DeliveryMove{From: ledger.DeliveryQueued, Delivery: rows[len(rows)-1-i]})
	}
	results := make(chan error, 2)
	for range 2 {
		go func() { results <- first.Commit(t.Context(), ledger.Change{Deliveries: forth}) }()
		go func() { results <- second.Commit(t.Context(), ledger.Change{Deliveries: back}) }()
		require.NoError(t, <-results)
		require.NoError(t, <-results)
	}
}

// Three replicas count together: no more than the limit passes, and nobody is refused below it.
func TestLimitsHoldForAllReplicas(t *testing.T) {
	t.Parallel()
	url := migrated.Copy(t)
	const most, people, each = 30, 3, 20 // messages of each person to each replica
	now := time.Now()
	var passed [people]atomic.Int32
	var toAgent atomic.Int32
	var all sync.WaitGroup
	for range 3 {
		replica := limits.New(limits.Config{
			Store: open(t, url), Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
		})
		for i := range people * each {
			all.Go(func() {
				who := i % people
				err := replica.Count(t.Context(),
					ledger.LimitCount{Kind: ledger.LimitPerson, Name: fmt.Sprint(who), Level: flow.Public, Rate: ledger.Rate{Max: most, Per: time.Minute}},
					ledger.LimitCount{Kind: ledger.LimitAgent, Name: fmt.Sprint(i / people % 2), Level: flow.Public, Rate: ledger.Rate{Max: 1000, Per: time.Minute}},
				)
				var reached *limits.Reached
				switch {
				case err == nil:
					passed[who].Add(1)
					toAgent.Add(1)
				case !errors.As(err, &reached):
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	for who := range passed {
		require.EqualValues(t, most, passed[who].Load())
	}
	require.EqualValues(t, people*most, toAgent.Load())
}
