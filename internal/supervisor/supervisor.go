// Package supervisor keeps the accounts of all channels running. Each runs under a lease, so that only one replica
// receives for it, and is restarted when it ends.
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/adapters"
	"sluice/internal/pause"
)

const (
	firstBackoff = time.Second
	backoffMax   = time.Minute
	healthyAfter = time.Minute // a run of this length resets the backoff
	menuTimeout  = 15 * time.Second
)

// Leaser gives leases: it runs hold while this replica has the named lease, and calls standby when another replica
// has it. It blocks until ctx ends.
type Leaser interface {
	Lease(ctx context.Context, name string, standby func(), hold func(ctx context.Context) error) error
}

// Config has the dependencies of a Supervisor.
type Config struct {
	Adapters   []adapters.Adapter
	Acceptor   adapters.Acceptor
	Leases     Leaser
	Commands   []adapters.Command // for the platforms' menus
	Now        func() time.Time
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Supervisor runs one goroutine per account. While this replica receives for the account, there is a second one that
// watches its events, and for a moment a third one that publishes the menu. Stop waits for all of them.
type Supervisor struct {
	cfg      Config
	accounts []*account
	cancel   context.CancelFunc
	wg       sync.WaitGroup
	up       *prometheus.GaugeVec
	deaf     *prometheus.GaugeVec
	restarts *prometheus.CounterVec
}

// account is a supervised adapter with its state.
type account struct {
	adapter adapters.Adapter
	intake  *intake
	mu      sync.Mutex
	state   adapters.State
	deaf    bool // the log says that the account is deaf
}

// New creates a Supervisor; nothing runs before Start.
func New(cfg Config) *Supervisor {
	s := &Supervisor{
		cfg: cfg,
		up: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "sluice", Subsystem: "adapter", Name: "up", Help: "1 while this replica receives for the account.",
		}, []string{"channel", "account"}),
		deaf: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "sluice", Subsystem: "adapter", Name: "deaf", Help: "1 while the account is connected, but its events do not arrive or are not accepted.",
		}, []string{"channel", "account"}),
		restarts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "sluice", Subsystem: "adapter", Name: "restarts_total", Help: "Restarts of an account.",
		}, []string{"channel", "account"}),
	}
	cfg.Registerer.MustRegister(s.up, s.deaf, s.restarts)
	for _, a := range cfg.Adapters {
		acc := &account{adapter: a, intake: newIntake(cfg.Acceptor, cfg.Now)}
		acc.state = adapters.State{Channel: a.Channel(), Account: a.Account(), Status: adapters.Connecting, Since: cfg.Now()}
		s.accounts = append(s.accounts, acc)
	}
	return s
}

// Start starts all accounts. It does not wait for them to connect.
func (s *Supervisor) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	for _, acc := range s.accounts {
		s.wg.Go(func() {
			name := "adapter." + acc.adapter.Channel() + "." + acc.adapter.Account()
			standby := func() { s.set(acc, adapters.Standby, "another replica serves the account") }
			err := s.cfg.Leases.Lease(ctx, name, standby, func(ctx context.Context) error { return s.hold(ctx, acc) })
			if err != nil && ctx.Err() == nil {
				s.cfg.Log.Error("account is no longer supervised", "channel", acc.adapter.Channel(), "account", acc.adapter.Account(), "err", err)
			}
			s.set(acc, adapters.Stopped, "")
		})
	}
}

// Stop ends all accounts and waits for them. It is idempotent.
func (s *Supervisor) Stop() {
	if s.cancel != nil {
		s.cancel()
	}
	s.wg.Wait()
}

// States returns the state of each account. An adapter that knows more than the supervisor is asked directly.
func (s *Supervisor) States() []adapters.State {
	states := make([]adapters.State, 0, len(s.accounts))
	for _, acc := range s.accounts {
		states = append(states, acc.current())
	}
	return states
}

// Acceptor returns the acceptor for an account's callbacks, or nil if there is no such account.
func (s *Supervisor) Acceptor(channel, name string) adapters.Acceptor {
	for _, acc := range s.accounts {
		if acc.adapter.Channel() == channel && acc.adapter.Account() == name {
			return acc.intake
		}
	}
	return nil
}

// current returns the supervisor's state or, if the account simply runs, the adapter's.
func (a *account) current() adapters.State {
	a.mu.Lock()
	defer a.mu.Unlock()
	st := a.state
	if stater, ok := a.adapter.(adapters.Stater); ok && (st.Status == adapters.Connecting || st.Status == adapters.Connected) {
		own := stater.State()
		own.Channel, own.Account, own.Restarts = st.Channel, st.Account, st.Restarts
		if own.Status == "" {
			own.Status = st.Status
		}
		if own.Since.IsZero() {
			own.Since = st.Since
		}
		st = own
	}
	return a.heard(st)
}

// heard adds the state of the account's events.
func (a *account) heard(st adapters.State) adapters.State {
	last, pending := a.intake.heard()
	if last.After(st.LastEvent) {
		st.LastEvent = last
	}
	st.Pending = pending
	if st.Status != adapters.Connected && st.Status != adapters.Deaf && st.Status != adapters.Retrying {
		return st
	}
	if why := a.intake.deaf(); why != "" {
		st.Status, st.Detail = adapters.Deaf, why
	}
	return st
}

// hold runs an account, with restarts, while this replica has its lease.
func (s *Supervisor) hold(ctx context.Context, acc *account) error {
	labels := []string{acc.adapter.Channel(), acc.adapter.Account()}
	defer s.up.WithLabelValues(labels...).Set(0)
	defer s.set(acc, adapters.Connecting, "waiting for the account's lease")
	s.setMenu(ctx, acc)
	stop := s.watch(ctx, acc)
	defer stop()
	pauses := pause.Doubling(firstBackoff, backoffMax, 0)
	for {
		s.set(acc, adapters.Connecting, "")
		s.up.WithLabelValues(labels...).Set(1)
		started := s.cfg.Now()
		err := runGuarded(ctx, acc.adapter, acc.intake)
		s.up.WithLabelValues(labels...).Set(0)
		if ctx.Err() != nil {
			return nil
		}
		if s.cfg.Now().Sub(started) > healthyAfter {
			pauses.Reset()
		}
		f := adapters.AsFailure(orEnded(err))
		if f.Kind == adapters.Auth {
			return s.giveUp(ctx, acc, f)
		}
		wait := max(pauses.NextBackOff(), f.RetryAfter)
		s.retryIn(acc, f, wait)
		if pause.Wait(ctx, wait) != nil {
			return nil
		}
		s.restarts.WithLabelValues(labels...).Inc()
	}
}

var errEnded = errors.New("it ended unexpectedly")

func orEnded(err error) error {
	if err == nil {
		return errEnded
	}
	return err
}

// giveUp shows the account as failed until the configuration changes.
func (s *Supervisor) giveUp(ctx context.Context, acc *account, f *adapters.Failure) error {
	s.set(acc, adapters.Failed, f.Err.Error())
	s.cfg.Log.Error("account is stopped until its configuration is fixed",
		"channel", acc.adapter.Channel(), "account", acc.adapter.Account(), "err", f.Err)
	<-ctx.Done()
	return nil
}

func (s *Supervisor) retryIn(acc *account, f *adapters.Failure, wait time.Duration) {
	s.cfg.Log.Warn("account ended; starting it again",
		"channel", acc.adapter.Channel(), "account", acc.adapter.Account(), "err", f.Err, "retry_in", wait.String())
	s.set(acc, adapters.Retrying, f.Err.Error())
	acc.mu.Lock()
	acc.state.Restarts++
	acc.mu.Unlock()
}

func (s *Supervisor) set(acc *account, status adapters.Status, detail string) {
	acc.mu.Lock()
	defer acc.mu.Unlock()
	if acc.state.Status != status {
		acc.state.Since = s.cfg.Now()
	}
	acc.state.Status, acc.state.Detail = status, detail
}

// setMenu publishes the chat commands. If the platform refuses, the account works without a menu.
func (s *Supervisor) setMenu(ctx context.Context, acc *account) {
	setter, ok := acc.adapter.(adapters.CommandSetter)
	if !ok || len(s.cfg.Commands) == 0 {
		return
	}
	s.wg.Go(func() { // in parallel, so that a slow platform delays nothing
		ctx, cancel := context.WithTimeout(ctx, menuTimeout)
		defer cancel()
		if err := setter.SetCommands(ctx, s.cfg.Commands); err != nil && ctx.Err() == nil {
			s.cfg.Log.Warn("command menu not set", "channel", acc.adapter.Channel(), "account", acc.adapter.Account(), "err", err)
		}
	})
}

func runGuarded(ctx context.Context, a adapters.Adapter, in adapters.Acceptor) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return a.Run(ctx, in)
}
