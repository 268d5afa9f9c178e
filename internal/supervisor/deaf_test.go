package supervisor_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/internal/pause"
	"sluice/internal/supervisor"
)

// accept is an acceptor that does what a test says.
type accept func(ctx context.Context, in adapters.Inbound) error

func (f accept) Accept(ctx context.Context, in adapters.Inbound) error { return f(ctx, in) }

// platform is an adapter that is connected, gives an event every second, and says how many wait.
type platform struct {
	account
	gives   atomic.Bool
	waiting atomic.Int64
	calls   atomic.Int64
}

func (*platform) State() adapters.State { return adapters.State{Status: adapters.Connected} }

func (p *platform) Backlog(context.Context) (int, string, error) {
	p.calls.Add(1)
	return int(p.waiting.Load()), "Wrong response from the webhook: 502", nil
}

func (p *platform) Run(ctx context.Context, in adapters.Acceptor) error {
	for pause.Wait(ctx, time.Second) == nil {
		if p.gives.Load() {
			_ = in.Accept(ctx, adapters.Inbound{})
		}
	}
	return nil
}

// records keeps what is logged.
type records struct {
	slog.Handler
	mu    sync.Mutex
	lines []string
}

func (*records) Enabled(context.Context, slog.Level) bool { return true }

func (r *records) Handle(_ context.Context, rec slog.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, rec.Message)
	return nil
}

func (r *records) said() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines)
}

// watched starts an account whose events a function takes.
func watched(t *testing.T, p *platform, take accept) (state func() adapters.State, said func() []string, registry *prometheus.Registry) {
	t.Helper()
	log := &records{Handler: slog.DiscardHandler}
	registry = prometheus.NewRegistry()
	s := supervisor.New(supervisor.Config{
		Adapters: []adapters.Adapter{p}, Acceptor: take, Leases: held(), Now: time.Now, Log: slog.New(log), Registerer: registry,
	})
	s.Start()
	t.Cleanup(s.Stop)
	return func() adapters.State { return s.States()[0] }, log.said, registry
}

// An account whose events can't be taken is deaf, says why, and hears again once one was taken.
func TestRefusedEventsShow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &platform{}
		p.gives.Store(true)
		var refuse atomic.Bool
		state, said, registry := watched(t, p, func(context.Context, adapters.Inbound) error {
			if refuse.Load() {
				return errors.New("the disk is full")
			}
			return nil
		})
		time.Sleep(10 * time.Second)
		require.Equal(t, adapters.Connected, state().Status)
		require.WithinDuration(t, time.Now(), state().LastEvent, 2*time.Second)
		refuse.Store(true)
		time.Sleep(20 * time.Second)
		require.Equal(t, adapters.Connected, state().Status, "it may pass")
		time.Sleep(time.Hour)
		require.Equal(t, adapters.Deaf, state().Status)
		require.WithinDuration(t, time.Now().Add(-time.Hour-20*time.Second), state().DeafSince, 2*time.Second, "since the first refusal, not since it shows")
		require.Regexp(t, `messages have not been accepted for 1h0m\d+s: the disk is full`, state().Detail)
		require.Len(t, said(), 1, "once, not with each try")
		count, err := testutil.GatherAndCount(registry, "sluice_adapter_deaf")
		require.NoError(t, err)
		require.Equal(t, 1, count)
		refuse.Store(false)
		time.Sleep(20 * time.Second)
		require.Equal(t, adapters.Connected, state().Status)
		require.Zero(t, state().DeafSince)
		require.Equal(t, []string{"account is connected but receives no messages", "account receives messages again"}, said())
	})
}

// So is one where taking an event does not come to an end.
func TestHangingEventsShow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &platform{}
		p.gives.Store(true)
		state, _, _ := watched(t, p, func(ctx context.Context, _ adapters.Inbound) error { <-ctx.Done(); return ctx.Err() })
		time.Sleep(20 * time.Second)
		require.Equal(t, adapters.Connected, state().Status)
		time.Sleep(time.Minute)
		require.Equal(t, adapters.Deaf, state().Status)
		require.Contains(t, state().Detail, "to be stored")
	})
}

// And one for which events wait on the platform while none comes.
func TestWaitingEventsShow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &platform{}
		state, _, _ := watched(t, p, func(context.Context, adapters.Inbound) error { return nil })
		p.waiting.Store(7)
		time.Sleep(90 * time.Second)
		require.Equal(t, adapters.Connected, state().Status, "they may be on their way")
		require.Equal(t, 7, state().Pending)
		time.Sleep(3 * time.Minute)
		require.Equal(t, adapters.Deaf, state().Status)
		require.Regexp(t, `7 events are waiting on the platform, and none has arrived for \d+m\d+s: Wrong response from the webhook: 502`, state().Detail)
		require.LessOrEqual(t, p.calls.Load(), int64(5), "the platform is asked once a minute")

		p.gives.Store(true)
		time.Sleep(2 * time.Second)
		require.Equal(t, adapters.Connected, state().Status)
		time.Sleep(10 * time.Minute)
		require.Equal(t, adapters.Connected, state().Status, "while events come, others may wait")
	})
}
