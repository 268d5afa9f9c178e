package supervisor_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/adapters"
	"sluice/internal/supervisor"
	"sluice/sessions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// account is an adapter whose n-th run does what a test says.
type account struct {
	mu   sync.Mutex
	runs []time.Time
	run  func(ctx context.Context, n int) error
	menu []adapters.Command
}

func (*account) Channel() string { return "test" }
func (*account) Account() string { return "default" }

func (*account) Send(context.Context, adapters.Outbound) (adapters.Receipt, error) {
	return adapters.Receipt{}, nil
}

func (a *account) Run(ctx context.Context, _ adapters.Acceptor) error {
	a.mu.Lock()
	n := len(a.runs)
	a.runs = append(a.runs, time.Now())
	a.mu.Unlock()
	return a.run(ctx, n)
}

func (a *account) SetCommands(_ context.Context, menu []adapters.Command) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.menu = menu
	return nil
}

func (a *account) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.runs)
}

// leases gives the lease when a test says so, and takes it away likewise.
type leases struct {
	give, take chan struct{}
	talk       // with the other replica
}

// talk has what this replica says with its lease, and what it hears from the other one. Nil: nothing.
type talk struct{ says, hears *atomic.Pointer[string] }

func (t talk) Say(_, text string) {
	if t.says != nil {
		t.says.Store(&text)
	}
}

func (t talk) Said(string) string {
	if t.hears != nil && t.hears.Load() != nil {
		return *t.hears.Load()
	}
	return ""
}

func (l leases) Lease(ctx context.Context, _ string, standby func(), hold func(context.Context) error) error {
	for {
		select {
		case <-l.give:
		case <-ctx.Done():
			return nil
		}
		held, cancel := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { done <- hold(held) }()
		select {
		case <-l.take:
			cancel()
			if err := <-done; err != nil {
				return err
			}
			standby()
		case err := <-done:
			cancel()
			return err
		}
	}
}

func start(t *testing.T, a adapters.Adapter, l leases) *supervisor.Supervisor {
	t.Helper()
	s := supervisor.New(supervisor.Config{
		Adapters: []adapters.Adapter{a}, Leases: l, Commands: []adapters.Command{{Name: "help"}}, Now: time.Now,
		Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	s.Start()
	t.Cleanup(s.Stop)
	return s
}

func held() leases {
	l := leases{give: make(chan struct{}, 1), take: make(chan struct{})}
	l.give <- struct{}{}
	return l
}

func status(s *supervisor.Supervisor) adapters.Status { return s.States()[0].Status }

// A configuration that is applied while the gateway starts, or stops, changes the accounts and starts nothing by itself.
func TestAccountsThatComeBeforeTheStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := held()
		s := supervisor.New(supervisor.Config{Leases: l, Now: time.Now, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
		a := &account{run: func(ctx context.Context, _ int) error { <-ctx.Done(); return nil }}
		s.Put(a)
		s.Remove(a.Channel(), a.Account())
		s.Put(a)
		s.Start()
		synctest.Wait()
		require.Equal(t, 1, a.count())
		s.Stop()
		s.Remove(a.Channel(), a.Account())
		s.Put(a)
		synctest.Wait()
		require.Equal(t, 1, a.count())
	})
}

// An account that ends is started again with growing pauses, also after a panic; one that worked for long starts over.
func TestAccountIsStartedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &account{run: func(ctx context.Context, n int) error {
			switch n {
			case 0:
				return &adapters.Failure{Kind: adapters.Transient, Certain: true, Err: errors.New("no route")}
			case 1:
				panic("adapter")
			case 2:
				return nil // ended by itself
			case 3:
				time.Sleep(time.Hour)
				return errors.New("after a good while")
			}
			<-ctx.Done()
			return nil
		}}
		s := start(t, a, held())
		time.Sleep(500 * time.Millisecond)
		require.Equal(t, adapters.Retrying, status(s))
		require.Contains(t, s.States()[0].Detail, "no route")
		time.Sleep(2 * time.Hour)
		require.Equal(t, 5, a.count())
		var pauses []time.Duration
		for i := 1; i < 5; i++ {
			pauses = append(pauses, a.runs[i].Sub(a.runs[i-1]))
		}
		require.Equal(t, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, time.Hour + time.Second}, pauses)
		require.Equal(t, 4, s.States()[0].Restarts)
		require.Equal(t, "help", a.menu[0].Name)
		s.Stop()
		s.Stop()
		require.Equal(t, adapters.Stopped, status(s))
	})
}

func TestRevokedTokenIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &account{run: func(context.Context, int) error {
			return &adapters.Failure{Kind: adapters.Auth, Certain: true, Err: errors.New("401: ask BotFather")}
		}}
		s := start(t, a, held())
		time.Sleep(24 * time.Hour)
		require.Equal(t, 1, a.count())
		require.Equal(t, adapters.Failed, status(s))
		require.Contains(t, s.States()[0].Detail, "BotFather")
	})
}

// Only the replica that has the lease receives; one that loses it stops.
func TestOnlyTheHolderReceives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended := 0
		a := &account{run: func(ctx context.Context, _ int) error {
			<-ctx.Done()
			ended++
			return nil
		}}
		l := leases{give: make(chan struct{}), take: make(chan struct{})}
		s := start(t, a, l)
		synctest.Wait()
		require.Zero(t, a.count())
		require.Equal(t, adapters.Connecting, status(s), "nobody knows yet who has the lease")
		l.give <- struct{}{}
		synctest.Wait()
		require.Equal(t, 1, a.count())
		l.take <- struct{}{}
		synctest.Wait()
		require.Equal(t, 1, ended)
		require.Equal(t, adapters.Standby, status(s))
		l.give <- struct{}{}
		synctest.Wait()
		require.Equal(t, 2, a.count())
	})
}

// knowing is an account that says itself how it does.
type knowing struct{ *account }

func (knowing) State() adapters.State {
	return adapters.State{Status: adapters.Connected, Self: sessions.Peer{Username: "bot"}}
}

func TestAccountsOwnWordCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := knowing{&account{run: func(ctx context.Context, _ int) error { <-ctx.Done(); return nil }}}
		s := start(t, a, held())
		synctest.Wait()
		state := s.States()[0]
		require.Equal(t, adapters.Connected, state.Status)
		require.Equal(t, "bot", state.Self.Username)
		require.Equal(t, "test", state.Channel)
	})
}

// poller takes the events of one bot; two at a time would take some twice.
type poller struct {
	*account
	name string
}

func (p poller) Account() string { return p.name }

// always gives every lease.
type always struct{ talk }

func (always) Lease(ctx context.Context, _ string, _ func(), hold func(context.Context) error) error {
	return hold(ctx)
}

// An account that gets another name ends before it starts under the new one.
func TestARenamedAccountIsPolledOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var polling, most atomic.Int32
		bot := &account{run: func(ctx context.Context, _ int) error {
			most.Store(max(most.Load(), polling.Add(1)))
			defer polling.Add(-1)
			<-ctx.Done()
			time.Sleep(time.Second) // the platform answers late
			return nil
		}}
		var now supervisor.Accounts
		named := func(name string) supervisor.Set {
			set := supervisor.Set{}
			require.NoError(t, supervisor.Open(&now, set, "test", map[string]string{name: "the token"}, func(name, _ string) (adapters.Adapter, error) {
				return poller{bot, name}, nil
			}))
			return set
		}
		now.Set(named("old"))
		s := supervisor.New(supervisor.Config{Adapters: now.All(), Leases: always{}, Now: time.Now, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
		s.Start()
		defer s.Stop()
		synctest.Wait()
		now.Put(named("new"), s)
		synctest.Wait()
		require.Equal(t, 2, bot.count())
		require.Equal(t, int32(1), most.Load())
		require.Equal(t, "new", s.States()[0].Account)
	})
}

// The replica that serves an account says what is wrong with it, and one that stands by shows that nothing arrives.
func TestAnAccountThatDoesNotWorkElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, said := held(), new(atomic.Pointer[string])
		l.talk = talk{says: said}
		start(t, &account{run: func(context.Context, int) error {
			return &adapters.Failure{Kind: adapters.Auth, Err: errors.New("the token is revoked" + strings.Repeat(" ü", 1000))}
		}}, l)
		time.Sleep(time.Minute)
		require.Contains(t, *said.Load(), "failed: the token is revoked ü")
		require.LessOrEqual(t, len(*said.Load()), len("failed: ")+1000)
		require.True(t, utf8.ValidString(*said.Load()))

		other := held()
		other.talk = talk{hears: said}
		s := start(t, &account{run: func(ctx context.Context, _ int) error { <-ctx.Done(); return nil }}, other)
		synctest.Wait()
		other.take <- struct{}{}
		synctest.Wait()
		state := s.States()[0]
		require.Equal(t, adapters.Standby, state.Status)
		require.False(t, state.Hears())
		require.NotZero(t, state.DeafSince)
		require.Contains(t, state.Detail, "the token is revoked")

		l.take <- struct{}{}
		synctest.Wait()
		require.Empty(t, *said.Load(), "who no longer serves the account says nothing about it")
	})
}
