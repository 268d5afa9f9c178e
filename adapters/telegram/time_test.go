package telegram_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/telegram"
)

// platform is a Bot API without a network, for fake time. It takes one call at a time.
type platform struct {
	answers map[string]func(ctx context.Context) (status int, body string) // by method; others are answered with true
	calls   map[string][]call
	dropped atomic.Int32 // how often the idle connections were closed
}

type call struct{ at, within time.Duration } // since the start, and until the deadline

var bubbleStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // where synctest's clock begins

func (p *platform) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close() //nolint:errcheck // only read from
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return nil, err
		}
	}
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{})
	}
	method := path.Base(r.URL.Path)
	deadline, _ := r.Context().Deadline() // none shows as a time long ago
	p.calls[method] = append(p.calls[method], call{time.Since(bubbleStart), time.Until(deadline)})
	status, body := http.StatusOK, `{"ok":true,"result":true}`
	if answer := p.answers[method]; answer != nil {
		status, body = answer(r.Context())
	} else if method == "getMe" {
		body = `{"ok":true,"result":{"id":1000000,"is_bot":true,"first_name":"Bot","username":"test0_bot"}}`
	}
	if status == 0 {
		return nil, context.Cause(r.Context())
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func (p *platform) CloseIdleConnections() { p.dropped.Add(1) }

// runFor lets an adapter run for a while of fake time.
func (p *platform) runFor(t *testing.T, a *telegram.Adapter, d time.Duration, in adapters.Acceptor) {
	t.Helper()
	p.calls = map[string][]call{}
	a.SetTransport(p)
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	require.NoError(t, a.Run(ctx, in))
	require.Equal(t, adapters.Stopped, a.State().Status)
}

func offline(t *testing.T, cfg telegram.Config) *telegram.Adapter {
	t.Helper()
	cfg.Token, cfg.Log = "1000000:token", slog.New(slog.DiscardHandler)
	a, err := telegram.New(cfg)
	require.NoError(t, err)
	return a
}

func TestWebhookIsSetAgainEveryTenMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &platform{}
		a := offline(t, telegram.Config{Mode: telegram.Webhook, WebhookURL: "https://example.org", WebhookSecret: "s3cret"})
		p.runFor(t, a, 25*time.Minute, newInbox())
		const within = telegram.DefaultCallTimeout
		require.Equal(t, []call{{0, within}, {10 * time.Minute, within}, {20 * time.Minute, within}}, p.calls["setWebhook"])
	})
}

func TestPauseAfterFailedPoll(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status      int
		body        string
		least, most time.Duration
	}{
		"conflict":     {409, `{"ok":false,"error_code":409,"description":"Conflict"}`, 30 * time.Second, 38 * time.Second},
		"asked for":    {429, `{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":90}}`, 90 * time.Second, 113 * time.Second},
		"server error": {500, `{"ok":false,"error_code":500,"description":"Internal Server Error"}`, 500 * time.Millisecond, 38 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &platform{answers: map[string]func(context.Context) (int, string){
					"getUpdates": func(context.Context) (int, string) { return c.status, c.body },
				}}
				p.runFor(t, offline(t, telegram.Config{}), 20*time.Minute, newInbox())
				polls := p.calls["getUpdates"]
				require.Greater(t, len(polls), 9)
				for i := range polls[1:] {
					pause := polls[i+1].at - polls[i].at
					require.GreaterOrEqual(t, pause, c.least)
					require.LessOrEqual(t, pause, c.most)
				}
			})
		})
	}
}

// A connection may go deaf without an end: the call has one.
func TestDeafConnectionIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := offline(t, telegram.Config{})
		polls := 0
		var seen adapters.State
		var dropped int32
		p := &platform{}
		p.answers = map[string]func(context.Context) (int, string){
			"getUpdates": func(ctx context.Context) (int, string) {
				switch polls++; polls {
				case 1:
					return http.StatusOK, `{"ok":true,"result":[]}`
				case 2:
					<-ctx.Done()
					return 0, ""
				case 3:
					seen, dropped = a.State(), p.dropped.Load()
				}
				<-ctx.Done()
				return 0, ""
			},
		}
		p.runFor(t, a, 90*time.Second, newInbox())
		require.Equal(t, adapters.Retrying, seen.Status)
		require.EqualValues(t, 1, dropped, "the next call takes a new connection")
		for method, within := range map[string]time.Duration{
			"getMe": 30 * time.Second, "deleteWebhook": 30 * time.Second, "getUpdates": time.Minute,
		} {
			require.Equal(t, within, p.calls[method][0].within, method)
		}
		require.GreaterOrEqual(t, p.calls["getUpdates"][2].at, time.Minute)
	})
}

// patient is an acceptor that does not come to an end.
type patient func(ctx context.Context)

func (p patient) Accept(ctx context.Context, _ adapters.Inbound) error {
	p(ctx)
	return ctx.Err()
}

func TestStuckPollerShowsInState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := offline(t, telegram.Config{})
		p := &platform{answers: map[string]func(context.Context) (int, string){
			"getUpdates": func(context.Context) (int, string) {
				return http.StatusOK, `{"ok":true,"result":[{"update_id":1,"message":{"message_id":1,"date":1,"chat":{"id":1,"type":"private"},"text":"x"}}]}`
			},
		}}
		var seen []string
		p.runFor(t, a, 5*time.Minute, patient(func(ctx context.Context) {
			for range 2 { // after 75 seconds it counts as deaf
				select {
				case <-time.After(time.Minute):
				case <-ctx.Done():
				}
				seen = append(seen, fmt.Sprint(a.State().Status, " ", a.State().Detail))
			}
			<-ctx.Done()
		}))
		require.Equal(t, []string{"connected ", "deaf connected, but no response from Telegram for 2m0s"}, seen)
	})
}
