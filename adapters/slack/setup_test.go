package slack_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/adapters"
	"sluice/adapters/slack"
	"sluice/adapters/slack/slacktest"
	"sluice/sessions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inbox is an Acceptor that keeps what it gets.
type inbox struct {
	mu      sync.Mutex
	got     []adapters.Inbound
	refuse  func(adapters.Inbound) error
	held    sync.Mutex // while it is, nothing is accepted
	arrived chan struct{}
}

func newInbox() *inbox { return &inbox{arrived: make(chan struct{}, 1)} }

var errRefused = errors.New("store is full")

func (i *inbox) hold()  { i.held.Lock() }
func (i *inbox) letGo() { i.held.Unlock() }

func (i *inbox) Accept(_ context.Context, in adapters.Inbound) error {
	i.held.Lock()
	i.held.Unlock() //nolint:staticcheck // it was held until now
	if i.refuse != nil {
		if err := i.refuse(in); err != nil {
			return err
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.got = append(i.got, in)
	select {
	case i.arrived <- struct{}{}:
	default:
	}
	return nil
}

// wait gives all events once there are n of them.
func (i *inbox) wait(t *testing.T, n int) []adapters.Inbound {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		i.mu.Lock()
		got := append([]adapters.Inbound(nil), i.got...)
		i.mu.Unlock()
		if len(got) >= n {
			return got
		}
		select {
		case <-i.arrived:
		case <-deadline:
			require.FailNow(t, "events did not arrive", "want %d, have %d", n, len(got))
		}
	}
}

// setup is one bot against one fake.
type setup struct {
	srv     *slacktest.Server
	adapter *slack.Adapter
	metrics *prometheus.Registry
	inbox   *inbox
	runErr  chan error
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func newSetup(t *testing.T, opts slacktest.Options, change func(*slack.Config)) *setup {
	t.Helper()
	s := &setup{
		srv: slacktest.Start(t, opts), inbox: newInbox(),
		metrics: prometheus.NewRegistry(), runErr: make(chan error, 4),
	}
	cfg := slack.Config{
		BotToken: slacktest.BotToken, AppToken: slacktest.AppToken, SigningSecret: slacktest.SigningSecret,
		APIBase: s.srv.URL(), Registerer: s.metrics, Log: quiet(),
	}
	if change != nil {
		change(&cfg)
	}
	var err error
	s.adapter, err = slack.New(cfg)
	require.NoError(t, err)
	t.Cleanup(s.adapter.Close)
	return s
}

// run runs the adapter until the test's end.
func (s *setup) run(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.runErr <- s.adapter.Run(ctx, s.inbox)
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return stop
}

func direct(n int) sessions.Route {
	return sessions.Route{
		Channel: "slack", Account: "default", Space: slacktest.TeamID, ChatType: sessions.Direct,
		Conversation: sessions.ConversationID(slacktest.DirectID(n)),
	}
}

func out(route sessions.Route, text string) adapters.Outbound {
	return adapters.Outbound{DeliveryID: "dlv_1", Route: route, Text: text}
}

// waitMetric waits until a counter of an outcome is not zero. It looks when something arrives or Slack is called.
func (s *setup) waitMetric(t *testing.T, name, outcome string) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(20 * time.Second)
	for {
		families, err := s.metrics.Gather()
		require.NoError(t, err)
		for _, f := range families {
			for _, m := range f.GetMetric() {
				for _, l := range m.GetLabel() {
					if f.GetName() == name && l.GetValue() == outcome && m.GetCounter().GetValue() > 0 {
						return
					}
				}
			}
		}
		select {
		case <-ticker.C:
		case <-deadline:
			require.FailNow(t, "not counted", "%s of %s", outcome, name)
		}
	}
}
