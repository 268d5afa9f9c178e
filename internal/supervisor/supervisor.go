// Package supervisor keeps the accounts of all channels running. Each runs under a lease, so that only one replica
// receives for it, and is restarted when it ends.
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
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
	faultMax     = 1000 // bytes of a fault that other replicas hear
)

// Leaser gives leases: it runs hold while this replica has the named lease, and calls standby when another replica
// has it. It blocks until ctx ends.
type Leaser interface {
	Lease(ctx context.Context, name string, standby func(), hold func(ctx context.Context) error) error
	// Say says something to the replicas that wait for a lease which this replica has, and Said returns what was said.
	Say(name, text string)
	Said(name string) string
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
	cfg    Config
	ctx    context.Context // of all accounts; nil before Start
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu       sync.Mutex
	accounts []*account

	up       *prometheus.GaugeVec
	deaf     *prometheus.GaugeVec
	restarts *prometheus.CounterVec
}

// account is a supervised account with its state.
type account struct {
	channel, name string
	intake        *intake
	stop          context.CancelFunc // ends the account; nil before Start
	ended         chan struct{}      // closed when it has ended

	mu      sync.Mutex
	adapter adapters.Adapter
	again   context.CancelFunc // ends the current run, so that the next one uses the new adapter; nil: no run
	state   adapters.State
	deaf    bool // the log says that the account is deaf
	// deafSince is since when no messages arrive. It is updated whenever the state is read, and the watch reads it regularly.
	deafSince time.Time
}

// with is the adapter of the next run.
func (a *account) with() adapters.Adapter {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.adapter
}

// run begins a run. It returns the run's adapter, and a context that also ends when the account gets another adapter.
func (a *account) run(ctx context.Context) (context.Context, context.CancelFunc, adapters.Adapter) {
	ctx, cancel := context.WithCancel(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.again = cancel
	return ctx, cancel, a.adapter
}

// replace gives an account another adapter, and ends the run with the old one. The account keeps its lease.
func (a *account) replace(adapter adapters.Adapter) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.adapter = adapter
	if a.again != nil {
		a.again()
	}
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
		s.accounts = append(s.accounts, s.account(a))
	}
	return s
}

func (s *Supervisor) account(a adapters.Adapter) *account {
	acc := &account{channel: a.Channel(), name: a.Account(), adapter: a, intake: newIntake(s.cfg.Acceptor, s.cfg.Now), ended: make(chan struct{})}
	acc.state = adapters.State{Channel: acc.channel, Account: acc.name, Status: adapters.Connecting, Since: s.cfg.Now()}
	return acc
}

// Start starts all accounts. It does not wait for them to connect.
func (s *Supervisor) Start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ctx, s.cancel = context.WithCancel(context.Background())
	for _, acc := range s.accounts {
		s.start(acc)
	}
}

func (s *Supervisor) start(acc *account) {
	ctx, cancel := context.WithCancel(s.ctx)
	acc.stop = cancel
	s.wg.Go(func() {
		defer close(acc.ended)
		name := acc.lease()
		err := s.cfg.Leases.Lease(ctx, name, func() { s.standBy(acc) }, func(ctx context.Context) error { return s.hold(ctx, acc) })
		if err != nil && ctx.Err() == nil {
			s.cfg.Log.Error("account is no longer supervised", "channel", acc.channel, "account", acc.name, "err", err)
		}
		s.set(acc, adapters.Stopped, "")
	})
}

func (a *account) lease() string { return "adapter." + a.channel + "." + a.name }

// standBy shows that another replica serves the account, and what it says is wrong there.
func (s *Supervisor) standBy(acc *account) {
	detail, fault := "another replica serves the account", s.cfg.Leases.Said(acc.lease())
	if fault != "" {
		detail += ", and it does not work there (" + fault + ")"
	}
	s.become(acc, adapters.Standby, detail, fault)
}

// tell tells the replicas that stand by what is wrong with the account.
func (s *Supervisor) tell(acc *account, st *adapters.State) {
	fault := ""
	if !st.Status.Hears() && st.Status != adapters.Connecting {
		fault = string(st.Status)
		if st.Detail != "" {
			fault += ": " + strings.ToValidUTF8(st.Detail[:min(len(st.Detail), faultMax)], "")
		}
	}
	s.cfg.Leases.Say(acc.lease(), fault)
}

// Put starts an account, or replaces its adapter: the run with the old adapter ends first, and the account keeps its lease.
// Before Start it only notes the account, and after Stop nothing starts.
func (s *Supervisor) Put(a adapters.Adapter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if acc := s.find(a.Channel(), a.Account()); acc != nil {
		acc.replace(a)
		return
	}
	acc := s.account(a)
	s.accounts = append(s.accounts, acc)
	if s.ctx != nil && s.ctx.Err() == nil {
		s.start(acc)
	}
}

// Remove ends an account and waits for it.
func (s *Supervisor) Remove(channel, name string) {
	s.mu.Lock()
	acc := s.find(channel, name)
	s.accounts = slices.DeleteFunc(s.accounts, func(a *account) bool { return a == acc })
	s.mu.Unlock()
	if acc != nil && acc.stop != nil {
		acc.stop()
		<-acc.ended
		s.deaf.DeleteLabelValues(channel, name)
		s.up.DeleteLabelValues(channel, name)
	}
}

func (s *Supervisor) find(channel, name string) *account {
	i := slices.IndexFunc(s.accounts, func(a *account) bool { return a.channel == channel && a.name == name })
	if i < 0 {
		return nil
	}
	return s.accounts[i]
}

// Stop ends all accounts and waits for them. It is idempotent.
func (s *Supervisor) Stop() {
	s.mu.Lock()
	if s.cancel != nil {
		s.cancel()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// States returns the state of each account. An adapter that knows more than the supervisor is asked directly.
func (s *Supervisor) States() []adapters.State {
	s.mu.Lock()
	all := slices.Clone(s.accounts)
	s.mu.Unlock()
	states := make([]adapters.State, 0, len(all))
	for _, acc := range all {
		states = append(states, acc.current())
	}
	return states
}

// Acceptor returns the acceptor for an account's callbacks, or nil if there is no such account.
func (s *Supervisor) Acceptor(channel, name string) adapters.Acceptor {
	s.mu.Lock()
	defer s.mu.Unlock()
	if acc := s.find(channel, name); acc != nil {
		return acc.intake
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
	st = a.heard(st)
	if st.Hears() {
		a.deafSince = time.Time{}
	} else if a.deafSince.IsZero() {
		a.deafSince = st.Since
	}
	st.DeafSince = a.deafSince
	return st
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
	if why, since := a.intake.deaf(); why != "" {
		st.Status, st.Detail, st.Since = adapters.Deaf, why, since
	}
	return st
}

// hold runs an account, with restarts, while this replica has its lease.
func (s *Supervisor) hold(ctx context.Context, acc *account) error {
	labels := []string{acc.channel, acc.name}
	defer s.up.WithLabelValues(labels...).Set(0)
	defer s.set(acc, adapters.Connecting, "waiting for the account's lease")
	defer s.cfg.Leases.Say(acc.lease(), "")
	stop := s.watch(ctx, acc)
	defer stop()
	pauses := pause.Doubling(firstBackoff, backoffMax, 0)
	for menu := true; ctx.Err() == nil; {
		run, end, adapter := acc.run(ctx)
		if menu {
			s.setMenu(run, acc, adapter)
		}
		began := s.cfg.Now()
		s.set(acc, adapters.Connecting, "")
		s.up.WithLabelValues(labels...).Set(1)
		err := runGuarded(run, adapter, acc.intake)
		s.up.WithLabelValues(labels...).Set(0)
		if run.Err() == nil {
			if s.cfg.Now().Sub(began) > healthyAfter {
				pauses.Reset()
			}
			s.failed(run, acc, adapters.AsFailure(orEnded(err)), pauses.NextBackOff())
		}
		if menu = run.Err() != nil; menu { // it was stopped, or has another adapter
			pauses.Reset()
			acc.intake.restart()
		} else {
			s.restarts.WithLabelValues(labels...).Inc()
		}
		end()
	}
	return nil
}

// failed waits for the next try of an account. One that can't sign in waits until it has another adapter.
func (s *Supervisor) failed(run context.Context, acc *account, f *adapters.Failure, backoff time.Duration) {
	if f.Kind == adapters.Auth {
		s.giveUp(run, acc, f)
		return
	}
	wait := max(backoff, f.RetryAfter)
	s.retryIn(acc, f, wait)
	_ = pause.Wait(run, wait) // the caller looks at run
}

var errEnded = errors.New("it ended unexpectedly")

func orEnded(err error) error {
	if err == nil {
		return errEnded
	}
	return err
}

// giveUp shows the account as failed until the configuration changes.
func (s *Supervisor) giveUp(ctx context.Context, acc *account, f *adapters.Failure) {
	s.set(acc, adapters.Failed, f.Err.Error())
	s.cfg.Log.Error("account is stopped until its configuration is fixed",
		"channel", acc.channel, "account", acc.name, "err", f.Err)
	<-ctx.Done()
}

func (s *Supervisor) retryIn(acc *account, f *adapters.Failure, wait time.Duration) {
	s.cfg.Log.Warn("account ended; starting it again",
		"channel", acc.channel, "account", acc.name, "err", f.Err, "retry_in", wait.String())
	s.set(acc, adapters.Retrying, f.Err.Error())
	acc.mu.Lock()
	acc.state.Restarts++
	acc.mu.Unlock()
}

func (s *Supervisor) set(acc *account, status adapters.Status, detail string) {
	s.become(acc, status, detail, "")
}

func (s *Supervisor) become(acc *account, status adapters.Status, detail, elsewhere string) {
	acc.mu.Lock()
	defer acc.mu.Unlock()
	if acc.state.Status != status {
		acc.state.Since = s.cfg.Now()
	}
	acc.state.Status, acc.state.Detail, acc.state.Elsewhere = status, detail, elsewhere
}

// setMenu publishes the chat commands. If the platform refuses, the account works without a menu.
func (s *Supervisor) setMenu(ctx context.Context, acc *account, adapter adapters.Adapter) {
	setter, ok := adapter.(adapters.CommandSetter)
	if !ok || len(s.cfg.Commands) == 0 {
		return
	}
	s.wg.Go(func() { // in parallel, so that a slow platform delays nothing
		ctx, cancel := context.WithTimeout(ctx, menuTimeout)
		defer cancel()
		if err := setter.SetCommands(ctx, s.cfg.Commands); err != nil && ctx.Err() == nil {
			s.cfg.Log.Warn("command menu not set", "channel", acc.channel, "account", acc.name, "err", err)
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
