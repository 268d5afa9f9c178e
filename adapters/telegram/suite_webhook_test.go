package telegram_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/adaptertest"
	"sluice/adapters/telegram"
)

// hookedPlatform is the fake that posts its updates.
type hookedPlatform struct{ *suitePlatform }

func (p *hookedPlatform) Limits() adaptertest.Limits {
	l := p.suitePlatform.Limits()
	l.Posts = true
	return l
}

// Adapter sets its webhook again each second, and sees then that its token is revoked.
func (p *hookedPlatform) Adapter(t *testing.T) adapters.Adapter {
	m := &mounted{}
	front := httptest.NewServer(m)
	t.Cleanup(front.Close)
	var err error
	m.Adapter, err = telegram.New(telegram.Config{
		Token: adapters.Secret(p.Token()), APIBase: p.URL(), Log: slog.New(slog.DiscardHandler),
		Mode: telegram.Webhook, WebhookURL: front.URL, WebhookSecret: "s3cret", WebhookCheck: time.Second,
	})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m
}

// mounted is an adapter whose callback is open while it runs, as in the gateway.
type mounted struct {
	*telegram.Adapter

	mu      sync.Mutex
	in      adapters.Acceptor // nil while it does not run
	running context.Context
}

func (m *mounted) Run(ctx context.Context, in adapters.Acceptor) error {
	m.mount(ctx, in)
	defer m.mount(ctx, nil)
	return m.Adapter.Run(ctx, in)
}

func (m *mounted) mount(ctx context.Context, in adapters.Acceptor) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running, m.in = ctx, in
}

func (m *mounted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	running, in := m.running, m.in
	m.mu.Unlock()
	if in == nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(running, cancel)()
	m.ServeCallback(w, r.WithContext(ctx), in)
}
