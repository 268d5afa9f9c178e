package telegram_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/adapters"
	"sluice/adapters/telegram"
	"sluice/adapters/telegram/telegramtest"
	"sluice/sessions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ada = telegramtest.User{ID: 1001, FirstName: "Ada", Username: "ada"}

// inbox is an Acceptor that keeps what it gets.
type inbox struct {
	mu      sync.Mutex
	got     []adapters.Inbound
	refuse  func(adapters.Inbound) error
	arrived chan struct{}
}

func newInbox() *inbox { return &inbox{arrived: make(chan struct{}, 1)} }

var errRefused = errors.New("store is full")

func (i *inbox) Accept(_ context.Context, in adapters.Inbound) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.refuse != nil {
		if err := i.refuse(in); err != nil {
			return err
		}
	}
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
	srv     *telegramtest.Server
	adapter *telegram.Adapter
	metrics *prometheus.Registry
	inbox   *inbox
	runErr  chan error
}

func newSetup(t *testing.T, opts telegramtest.Options, change func(*telegram.Config)) *setup {
	t.Helper()
	s := &setup{
		srv: telegramtest.Start(t, opts), inbox: newInbox(),
		metrics: prometheus.NewRegistry(), runErr: make(chan error, 4),
	}
	cfg := telegram.Config{
		Token: adapters.Secret(s.srv.Token()), APIBase: s.srv.URL(), Registerer: s.metrics,
		Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&cfg)
	}
	var err error
	s.adapter, err = telegram.New(cfg)
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

func direct(chat sessions.ConversationID) sessions.Route {
	return sessions.Route{Channel: "telegram", Account: "default", ChatType: sessions.Direct, Conversation: chat}
}

func out(route sessions.Route, text string) adapters.Outbound {
	return adapters.Outbound{DeliveryID: "dlv_1", Route: route, Text: text}
}

// logBuffer is a log that is read while it is written.
type logBuffer struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	wrote chan struct{} // capacity 1
}

func newLogBuffer() *logBuffer { return &logBuffer{wrote: make(chan struct{}, 1)} }

func (b *logBuffer) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer func() {
		select {
		case b.wrote <- struct{}{}:
		default: // a reader has not looked yet
		}
	}()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// wait returns once the log holds a text.
func (b *logBuffer) wait(t *testing.T, text string) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for !strings.Contains(b.String(), text) {
		select {
		case <-b.wrote:
		case <-deadline:
			require.FailNow(t, "not logged in time", "want %q in:\n%s", text, b)
		}
	}
}
