package slack

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	slackapi "github.com/slack-go/slack"

	"sluice/adapters"
)

// The pauses between tries.
const (
	firstPause   = 500 * time.Millisecond
	longestPause = 30 * time.Second
)

// web calls Slack's Web API, at the rate that Slack allows, with a deadline, and with failures of the port. It is safe for
// concurrent use.
type web struct {
	cfg    Config
	client *client
	files  *client          // for uploads and downloads, which take longer
	api    *slackapi.Client // over client
	pacer  *pacer
	state  *adapters.Tracker
	gone   chan struct{} // capacity 1: asks Run to check the token
}

func newWeb(cfg Config, m *metrics, s *adapters.Tracker) *web {
	c := newClient(cfg, m, cfg.CallTimeout)
	return &web{
		cfg: cfg, client: c, files: newClient(cfg, m, uploadTimeout), api: newAPI(cfg, c),
		pacer: newPacer(cfg.Now), state: s, gone: make(chan struct{}, 1),
	}
}

// call makes one call of the Web API, at its rate and with its deadline. Its error is a *[adapters.Failure].
func (w *web) call(ctx context.Context, key paceKey, do func(context.Context) error) error {
	if err := w.pacer.wait(ctx, key); err != nil {
		return err
	}
	ctx, cancel := w.bounded(ctx)
	defer cancel()
	err := do(ctx)
	if err == nil {
		return nil
	}
	f := w.failure(key.method, err)
	if f.Kind == adapters.RateLimited {
		w.pacer.pause(key, f.RetryAfter)
	}
	return f
}

// bounded adds the deadline of a call.
func (w *web) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, w.cfg.CallTimeout)
}

// failure maps a call's error to a failure of the port. If the token is at fault, the state shows it and Run checks the token.
func (w *web) failure(method string, err error) *adapters.Failure {
	f := asFailure(method, w.client.redact(err))
	if f.Kind == adapters.Auth {
		w.state.Fail(f)
		if method != methodIdentity {
			w.doubt()
		}
	}
	return f
}

// retryPolicy decides how failures that the state shows are retried.
func (w *web) retryPolicy(show func(*adapters.Failure)) adapters.Retry {
	return adapters.Retry{First: firstPause, Longest: longestPause, Log: w.cfg.Log, Show: show}
}

// retry repeats a call until it succeeds, ctx ends, or the token is invalid. The state shows each failure.
func (w *web) retry(ctx context.Context, what string, call func(context.Context) error, show func(*adapters.Failure)) error {
	return w.retryPolicy(show).Do(ctx, what, call)
}

// removed makes Run check the token after the app's removal.
func (w *web) removed(event string) {
	w.cfg.Log.Warn("slack reports that the app was removed; checking the token", "event", event)
	w.doubt()
}

// doubt makes Run check the token, without waiting for the result.
func (w *web) doubt() {
	select {
	case w.gone <- struct{}{}:
	default: // a check is pending
	}
}

// slackURL checks that a URL has a host of Slack or of the configured API.
func (w *web) slackURL(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", errForeignHost // the original error would quote the URL
	}
	base, err := url.Parse(w.cfg.APIBase)
	if err == nil && u.Scheme == base.Scheme && strings.EqualFold(u.Host, base.Host) {
		return raw, nil
	}
	host := strings.ToLower(u.Hostname())
	for _, domain := range []string{"slack.com", "slack-files.com", "slack-gov.com"} {
		if u.Scheme == "https" && (host == domain || strings.HasSuffix(host, "."+domain)) {
			return raw, nil
		}
	}
	return "", fmt.Errorf("%s: %w", host, errForeignHost)
}

// readReplies reads a page of a thread. The library would refuse a whole page for one message of a new shape.
func (w *web) readReplies(ctx context.Context, form url.Values, page *replies) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.cfg.APIBase+methodReplies, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Authorization", "Bearer "+string(w.cfg.BotToken))
	answer, err := w.client.do(r, methodReplies)
	if err != nil {
		return err
	}
	if _, err := adapters.Decode(answer, page); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	if !page.OK {
		return slackapi.SlackErrorResponse{Err: page.Error}
	}
	return nil
}
