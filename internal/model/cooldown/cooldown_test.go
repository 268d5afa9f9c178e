package cooldown_test

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/model/cooldown"
	"sluice/sessions"
	"sluice/sessions/port"
)

// rows is a store in memory, which counts.
type rows struct {
	mu         sync.Mutex
	states     map[cooldown.Place]cooldown.State
	probed     map[cooldown.Place]time.Time
	statements int
	fault      error
	during     func() // called after a read, before its result is used
	putting    func() // called before a state is stored
	dropping   func() // called before a state is removed
}

var _ cooldown.Store = (*rows)(nil)

func newRows() *rows {
	return &rows{states: map[cooldown.Place]cooldown.State{}, probed: map[cooldown.Place]time.Time{}}
}

func (r *rows) do(work func()) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.statements++
	if r.fault == nil {
		work()
	}
	return r.fault
}

func (r *rows) Cooldowns(context.Context) (all []cooldown.State, err error) {
	err = r.do(func() { all = slices.Collect(maps.Values(r.states)) })
	if r.during != nil {
		r.during()
	}
	return all, err
}

func (r *rows) PutCooldown(_ context.Context, s cooldown.State) error {
	if r.putting != nil {
		r.putting()
	}
	return r.do(func() { r.states[s.Place] = s; delete(r.probed, s.Place) })
}

func (r *rows) DropCooldown(_ context.Context, p cooldown.Place) error {
	if r.dropping != nil {
		r.dropping()
	}
	return r.do(func() { delete(r.states, p) })
}

func (r *rows) ClaimProbe(_ context.Context, p cooldown.Place, now, before time.Time) (mine bool, err error) {
	err = r.do(func() {
		if _, ok := r.states[p]; ok && r.probed[p].Before(before) {
			r.probed[p], mine = now, true
		}
	})
	return mine, err
}

var place = cooldown.Place{Provider: "p", Key: "key1", Model: "m"}

func overloaded() *sessions.ModelError {
	return &sessions.ModelError{Kind: sessions.ModelOverloaded, Model: "p/m", Err: errors.New("the prompt was: a secret")}
}

// replica is one process's board on shared rows.
type replica struct {
	*cooldown.Board
	told []string
}

func newReplica(r *rows) *replica {
	p := &replica{}
	p.Board = cooldown.New(cooldown.Config{Store: r, Now: time.Now, Changed: func(_ context.Context, s cooldown.State, works bool) {
		word := " fails"
		if works {
			word = " works"
		}
		p.told = append(p.told, s.Place.String()+word)
	}})
	return p
}

func (p *replica) may(t *testing.T) bool {
	t.Helper()
	return p.Standing(t.Context(), place, "mark").May
}

func TestWhatFailsCoolsDownLongerEachTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stored := t.Context(), newRows()
		one := newReplica(stored)
		require.True(t, one.may(t))
		one.Worked(ctx, place)
		require.Zero(t, stored.statements, "while all works, nothing is read or written")
		for _, pause := range []time.Duration{30 * time.Second, time.Minute, 5 * time.Minute, 5 * time.Minute} {
			one.Failed(ctx, place, "mark", overloaded())
			one.Failed(ctx, place, "mark", overloaded()) // of a call that began before
			time.Sleep(pause - time.Millisecond)
			require.False(t, one.may(t))
			time.Sleep(time.Millisecond)
			require.True(t, one.may(t), "the probe")
			require.False(t, one.may(t), "one alone")
		}
		one.Released(place)
		require.True(t, one.may(t), "a probe without a verdict is sent again")
		one.Worked(ctx, place)
		require.True(t, one.may(t))
		require.True(t, one.may(t))
		require.Equal(t, "p/m (key1) works", one.told[len(one.told)-1])
		require.Len(t, one.told, 5)
		require.Empty(t, stored.states)
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one := newReplica(newRows())
		limited := &sessions.ModelError{Kind: sessions.ModelRateLimited, RetryAfter: 10 * time.Minute}
		one.Failed(t.Context(), place, "mark", limited)
		time.Sleep(10*time.Minute - time.Second)
		require.False(t, one.may(t))
		time.Sleep(time.Second)
		require.True(t, one.may(t))
		limited.RetryAfter = 24 * time.Hour
		one.Failed(t.Context(), place, "mark", limited)
		time.Sleep(time.Hour)
		require.True(t, one.may(t), "an hour at most")
	})
}

func TestAKeyIsBlockedUntilAPersonActs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, one := t.Context(), newReplica(newRows())
		for _, kind := range []sessions.ModelErrorKind{sessions.ModelAuth, port.ModelBilling} {
			one.Failed(ctx, place, "mark", &sessions.ModelError{Kind: kind})
			time.Sleep(1000 * time.Hour)
			require.False(t, one.may(t))
			require.False(t, one.Standing(ctx, cooldown.Place{Provider: "p", Key: "key1", Model: "other"}, "mark").May, "the key, with every model")
			require.True(t, one.Standing(ctx, cooldown.Place{Provider: "p", Key: "key2", Model: "m"}, "another mark").May)
			require.True(t, one.Standing(ctx, place, "new mark").May, "another key of the same name")
			cleared, err := one.Clear(ctx, func(p cooldown.Place) bool { return p.Provider == "q" })
			require.NoError(t, err)
			require.Empty(t, cleared)
			cleared, err = one.Clear(ctx, func(p cooldown.Place) bool { return p.Provider == "p" })
			require.NoError(t, err)
			require.Len(t, cleared, 1)
			require.True(t, one.may(t))
		}
		require.Equal(t, []string{"p (key1) fails", "p (key1) works", "p (key1) fails", "p (key1) works"}, one.told)
	})
}

func TestReplicasShareCooldowns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		stored := newRows()
		one, two := newReplica(stored), newReplica(stored)
		var watching sync.WaitGroup
		watching.Go(func() { two.Watch(ctx, true) })
		one.Failed(ctx, place, "mark", overloaded())
		time.Sleep(cooldown.Every)
		synctest.Wait()
		require.False(t, two.may(t))
		time.Sleep(30*time.Second - cooldown.Every)
		synctest.Wait()
		require.True(t, two.may(t), "the probe of all replicas")
		require.False(t, one.may(t))
		two.Worked(ctx, place)
		require.False(t, one.may(t), "it knows of the other's probe")
		time.Sleep(cooldown.Every)
		require.NoError(t, one.Load(ctx))
		require.True(t, one.may(t))
		require.True(t, one.may(t))
		require.Equal(t, []string{"p/m (key1) works"}, two.told)
		cancel()
		watching.Wait()
	})
}

// Without its store, a process goes on with what it knows.
func TestAStoreThatFailsStopsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stored := t.Context(), newRows()
		one := newReplica(stored)
		stored.fault = errors.New("away")
		one.Failed(ctx, place, "mark", overloaded())
		require.False(t, one.may(t))
		time.Sleep(time.Minute)
		require.True(t, one.may(t))
		require.ErrorIs(t, one.Load(ctx), stored.fault)
		_, err := one.Clear(ctx, func(cooldown.Place) bool { return true })
		require.ErrorIs(t, err, stored.fault)
		require.Len(t, one.List(), 1)
	})
}

// What a process finds while it reads the store counts more than what it reads.
func TestALoadDropsNothing(t *testing.T) {
	t.Parallel()
	ctx, stored := t.Context(), newRows()
	one := newReplica(stored)
	stored.during = func() { stored.during = nil; one.Failed(ctx, place, "mark", overloaded()) }
	require.NoError(t, one.Load(ctx))
	require.False(t, one.may(t), "it failed during the read")
	stored.during = func() { stored.during = nil; one.Worked(ctx, place) }
	require.NoError(t, one.Load(ctx))
	require.True(t, one.may(t), "it worked during the read")
	stored.putting = func() { stored.putting = nil; require.NoError(t, one.Load(ctx)) }
	one.Failed(ctx, place, "mark", overloaded())
	require.False(t, one.may(t), "the read came before the state was stored")
	require.NoError(t, newReplica(stored).DropAll(ctx))
	require.NoError(t, one.Load(ctx))
	require.True(t, one.may(t), "another replica has cleared it")
}

// DropAll is what another replica does when a person clears everything.
func (p *replica) DropAll(ctx context.Context) error {
	_, err := p.Clear(ctx, func(cooldown.Place) bool { return true })
	return err
}

// A state that could not be stored is stored later, also where no other replica shares the store.
func TestAStateThatIsNotStoredIsStoredLater(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			stored := newRows()
			one := newReplica(stored)
			stored.fault = errors.New("away")
			one.Failed(ctx, place, "mark", overloaded())
			var watching sync.WaitGroup
			watching.Go(func() { one.Watch(ctx, shared) })
			time.Sleep(cooldown.Every)
			synctest.Wait()
			stored.mu.Lock()
			require.Empty(t, stored.states)
			stored.fault = nil
			stored.mu.Unlock()
			require.NoError(t, one.Load(ctx))
			require.False(t, one.may(t), "a read does not drop it")
			time.Sleep(cooldown.Every)
			synctest.Wait()
			stored.mu.Lock()
			require.Len(t, stored.states, 1)
			stored.mu.Unlock()
			restarted := newReplica(stored)
			require.NoError(t, restarted.Load(ctx))
			require.Len(t, restarted.List(), 1)
			cancel()
			watching.Wait()
		})
	}
}

// A model works again while its failure is being stored: the row does not come back after it was removed.
func TestAStoredFailureIsRemovedByASuccess(t *testing.T) {
	t.Parallel()
	for range 20 {
		stored := newRows()
		one := cooldown.New(cooldown.Config{Store: stored, Now: time.Now})
		done := make(chan struct{})
		stored.putting = func() {
			go func() {
				defer close(done)
				one.Worked(t.Context(), place)
			}()
			for range 1000 {
				runtime.Gosched()
			}
		}
		one.Failed(t.Context(), place, "mark", overloaded())
		<-done
		require.Empty(t, one.List())
		require.Empty(t, stored.states)
	}
}

// A model fails again while its success is being stored: the new failure stays.
func TestAFailureDuringASuccessStays(t *testing.T) {
	t.Parallel()
	stored := newRows()
	one := cooldown.New(cooldown.Config{Store: stored, Now: time.Now})
	one.Failed(t.Context(), place, "mark", overloaded())
	var failing sync.WaitGroup
	stored.dropping = func() {
		stored.dropping = nil
		failing.Go(func() { one.Failed(t.Context(), place, "another key", overloaded()) })
		for range 1000 {
			runtime.Gosched()
		}
	}
	one.Worked(t.Context(), place)
	failing.Wait()
	require.Len(t, one.List(), len(stored.states), "the row and the memory agree")
}
