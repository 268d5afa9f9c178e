package discord_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/adapters"
	"sluice/adapters/discord"
	"sluice/adapters/discord/discordtest"
	"sluice/sessions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ada = 1001

var errRefused = errors.New("store is full")

// inbox is an Acceptor that keeps what it gets, each event once, as the router does.
type inbox struct {
	mu      sync.Mutex
	got     []adapters.Inbound
	seen    map[string]bool
	calls   int
	before  func(adapters.Inbound) // called beside other events
	refuse  func(adapters.Inbound) error
	arrived chan struct{} // capacity 1
}

func newInbox() *inbox { return &inbox{seen: map[string]bool{}, arrived: make(chan struct{}, 1)} }

func (i *inbox) Accept(_ context.Context, in adapters.Inbound) error {
	if i.before != nil {
		i.before(in)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.calls++
	if i.refuse != nil {
		if err := i.refuse(in); err != nil {
			return err
		}
	}
	if !i.seen[in.Event] {
		i.got = append(i.got, in)
	}
	i.seen[in.Event] = true
	select {
	case i.arrived <- struct{}{}:
	default: // a reader has not looked yet
	}
	return nil
}

func (i *inbox) all() []adapters.Inbound {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]adapters.Inbound(nil), i.got...)
}

// wait gives all events once there are n of them.
func (i *inbox) wait(t *testing.T, n int) []adapters.Inbound {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		if got := i.all(); len(got) >= n {
			return got
		}
		select {
		case <-i.arrived:
		case <-deadline:
			require.FailNow(t, "events did not arrive", "want %d, have %+v", n, i.all())
		}
	}
}

// texts are what was said, in order.
func texts(got []adapters.Inbound) []string {
	var out []string
	for _, in := range got {
		out = append(out, in.Text)
	}
	return out
}

// cursors is a store in memory.
type cursors struct {
	mu      sync.Mutex
	saved   map[string]string
	fail    error
	changed chan struct{} // closed at the next save
}

func newCursors() *cursors {
	return &cursors{saved: map[string]string{}, changed: make(chan struct{})}
}

func (c *cursors) Load(context.Context) (map[string]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.saved), c.fail
}

func (c *cursors) Save(_ context.Context, name, value string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail == nil {
		c.saved[name] = value
		close(c.changed)
		c.changed = make(chan struct{})
	}
	return c.fail
}

// get is the saved value, and what is closed when it may be another.
func (c *cursors) get(name string) (string, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.saved[name], c.changed
}

// wait waits until a saved value is as wanted.
func (c *cursors) wait(ctx context.Context, name string, want func(value string) bool) error {
	for {
		value, changed := c.get(name)
		if want(value) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%s is %q: %w", name, value, ctx.Err())
		}
	}
}

// setup is one bot against one fake.
type setup struct {
	srv     *discordtest.Server
	cfg     discord.Config
	adapter *discord.Adapter
	metrics *prometheus.Registry
	inbox   *inbox
	cursors *cursors
	runErr  chan error
}

func newSetup(t *testing.T, opts discordtest.Options, change func(*discord.Config)) *setup {
	t.Helper()
	s := &setup{
		srv: discordtest.Start(t, opts), inbox: newInbox(), cursors: newCursors(),
		metrics: prometheus.NewRegistry(), runErr: make(chan error, 4),
	}
	s.cfg = discord.Config{
		Token: adapters.Secret(s.srv.Token()), APIBase: s.srv.URL(), Registerer: s.metrics,
		Log: slog.New(slog.DiscardHandler), Cursors: s.cursors,
	}
	discord.Hurry(&s.cfg)
	if change != nil {
		change(&s.cfg)
	}
	s.restart(t)
	t.Cleanup(func() { require.Empty(t, s.srv.Violations()) })
	return s
}

// restart makes a new adapter, as a new process would.
func (s *setup) restart(t *testing.T) {
	t.Helper()
	var err error
	s.adapter, err = discord.New(s.cfg)
	require.NoError(t, err)
	t.Cleanup(s.adapter.Close)
}

// run runs the adapter until the test's end, and returns when it has a session, as far as it tells.
func (s *setup) run(t *testing.T) (stop func()) {
	t.Helper()
	stop = s.start(t)
	require.NoError(t, s.srv.WaitConnected(t.Context(), 1))
	if s.cfg.Cursors != nil {
		require.NoError(t, s.cursors.wait(t.Context(), "session/0/1", func(v string) bool { return v != "" }))
	}
	return stop
}

// start is run without waiting.
func (s *setup) start(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	a := s.adapter
	go func() {
		defer close(done)
		s.runErr <- a.Run(ctx, s.inbox)
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return stop
}

func direct(person int) sessions.Route {
	return sessions.Route{
		Channel: "discord", Account: "default", ChatType: sessions.Direct,
		Conversation: sessions.ConversationID(discordtest.DirectID(person)),
	}
}

func out(route sessions.Route, text string) adapters.Outbound {
	return adapters.Outbound{DeliveryID: "dlv_1", Route: route, Text: text}
}
