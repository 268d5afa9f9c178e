package store_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store"
	"sluice/store/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scripted is an engine that holds transactions up until gate is closed and
// refuses what judge refuses. It keeps what was committed, in order.
type scripted struct {
	gate  chan struct{}
	judge func(key string, committed []string) error

	mu        sync.Mutex
	committed []string
	sizes     []int // of the transactions that were tried
	closed    bool
}

func (s *scripted) Apply(_ context.Context, writes []engine.Write, _ engine.Trail) (int, error) {
	<-s.gate
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sizes = append(s.sizes, len(writes))
	all := s.committed
	for i, w := range writes {
		key, _ := w[0].Args[0].(string) // of the event
		if err := s.judge(key, all); err != nil {
			return i, err
		}
		all = append(all[:len(all):len(all)], key)
	}
	s.committed = all
	return -1, nil
}

func (s *scripted) Query(context.Context, string, []any, func(engine.Row) error) error { return nil }
func (s *scripted) Workers() int                                                       { return 1 }
func (s *scripted) Alone() bool                                                        { return false }
func (s *scripted) WordQuery(int, engine.WordField) string                             { return "" }

func (s *scripted) Close() error {
	s.closed = true
	return nil
}

func event(key string) ledger.Change { return ledger.Change{Event: &ledger.Event{Key: key}} }

// commitAll holds the engine up with a first write while the others come to wait, in order.
func commitAll(ctx context.Context, s *scripted, db *store.DB, keys ...string) []error {
	errs := make([]error, len(keys))
	var wg sync.WaitGroup
	for i, key := range keys {
		wg.Go(func() { errs[i] = db.Commit(ctx, event(key)) })
		synctest.Wait()
	}
	close(s.gate)
	wg.Wait()
	return errs
}

func TestWaitingWritesShareACommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{gate: make(chan struct{}), judge: func(string, []string) error { return nil }}
		db := store.New(s, nil)
		keys := []string{"first"}
		for i := range 300 {
			keys = append(keys, strconv.Itoa(i))
		}
		for _, err := range commitAll(t.Context(), s, db, keys...) {
			require.NoError(t, err)
		}
		require.Equal(t, []int{1, 256, 44}, s.sizes)
		require.Equal(t, keys, s.committed)
		require.NoError(t, db.Close())
		require.True(t, s.closed)
	})
}

// All replicas count in the same rows. A transaction has them last, so that replicas don't wait for each other in a circle, one for a
// count and one for a budget.
func TestCountsComeLastInATransaction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{gate: make(chan struct{}), judge: func(string, []string) error { return nil }}
		db := store.New(s, nil)
		var all sync.WaitGroup
		ask := func(call func() error) {
			all.Go(func() {
				if err := call(); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		ask(func() error { return db.Commit(t.Context(), event("hold")) })
		ask(func() error {
			_, _, err := db.CountLimits(t.Context(), []ledger.LimitCount{{Kind: ledger.LimitAgent, Name: "main", Level: flow.Public, Rate: ledger.Rate{Max: 1, Per: time.Minute}}}, time.Now())
			return err
		})
		ask(func() error { return db.Commit(t.Context(), event("one")) })
		ask(func() error { return db.Commit(t.Context(), event("two")) })
		close(s.gate)
		all.Wait()
		require.Equal(t, []string{"hold", "one", "two", string(ledger.LimitAgent)}, s.committed)
		require.Equal(t, []int{1, 3}, s.sizes)
		require.NoError(t, db.Close())
	})
}

// TestRepeatIsRefusedOnlyBehindACommit: a repeat may be told that it is one
// only if the first is durable, for then the platform forgets the event.
func TestRepeatIsRefusedOnlyBehindACommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		s := &scripted{gate: make(chan struct{})}
		s.judge = func(key string, committed []string) error {
			for _, c := range committed {
				if c == key {
					return sessions.ErrDuplicate
				}
			}
			if key == "e" {
				if tries++; tries == 2 {
					return sessions.ErrConflict // another replica came in between: the first fails after all
				}
			}
			return nil
		}
		db := store.New(s, nil)
		errs := commitAll(t.Context(), s, db, "hold", "e", "e", "other")
		require.ErrorIs(t, errs[1], sessions.ErrConflict)
		require.NoError(t, errs[2]) // the repeat is now the first
		require.NoError(t, errs[3])
		require.Equal(t, []string{"hold", "e", "other"}, s.committed)
		require.NoError(t, db.Close())
	})
}

func TestFaultOfTheDatabaseIsEveryonesFault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		full := &engine.Unavailable{Reason: "the disk is full", Fix: "free space", Err: errors.New("cause")}
		s := &scripted{gate: make(chan struct{}), judge: func(string, []string) error { return nil }}
		db := store.New(&broken{scripted: s, err: full}, nil)
		for _, err := range commitAll(t.Context(), s, db, "1", "2", "3") {
			require.ErrorIs(t, err, full)
			require.EqualError(t, err, "store is not available: the disk is full; free space (cause)")
		}
		require.Len(t, s.sizes, 2) // nobody is tried alone
		require.NoError(t, db.Close())
	})
}

// broken is an engine whose database is at fault.
type broken struct {
	*scripted
	err error
}

func (b *broken) Apply(ctx context.Context, writes []engine.Write, trail engine.Trail) (int, error) {
	_, _ = b.scripted.Apply(ctx, writes, trail) // to be held up and counted
	return -1, b.err
}

func TestPanicOfTheEngineIsAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{gate: make(chan struct{}), judge: func(string, []string) error { panic("driver") }}
		db := store.New(s, nil)
		errs := commitAll(t.Context(), s, db, "1")
		require.ErrorContains(t, errs[0], "panic: driver")
		s.judge = func(string, []string) error { return nil }
		require.NoError(t, db.Commit(t.Context(), event("2")))
		require.NoError(t, db.Close())
	})
}

// A caller whose context ends learns what happened to its write: one that waits is taken back, and one that is being
// written is waited for.
func TestACallerThatGivesUpKnowsTheOutcome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{gate: make(chan struct{}), judge: func(string, []string) error { return nil }}
		db := store.New(s, nil)
		ctx, cancel := context.WithCancel(t.Context())
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- db.Commit(ctx, event("under way")) }()
		synctest.Wait()
		go func() { second <- db.Commit(ctx, event("waiting")) }()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-second, context.Canceled)
		synctest.Wait()
		require.Empty(t, first)
		close(s.gate)
		require.NoError(t, <-first)
		require.NoError(t, db.Close())
		require.Equal(t, []string{"under way"}, s.committed)
	})
}

func TestCloseFinishesWhatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{gate: make(chan struct{}), judge: func(string, []string) error { return nil }}
		db := store.New(s, nil)
		result := make(chan error, 2)
		for _, key := range []string{"1", "2"} {
			go func() { result <- db.Commit(t.Context(), event(key)) }()
			synctest.Wait()
		}
		closed := make(chan error)
		go func() { closed <- db.Close() }()
		synctest.Wait()
		require.Error(t, db.Commit(t.Context(), event("late")))
		close(s.gate)
		require.NoError(t, <-closed)
		require.NoError(t, <-result)
		require.NoError(t, <-result)
		require.Equal(t, []string{"1", "2"}, s.committed)
	})
}
