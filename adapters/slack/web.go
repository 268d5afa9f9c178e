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

// web calls Slack's Web API: at the pace that Slack allows, within a deadline, and with failures in the port's terms.
// Safe for concurrent use.
type web struct {
	cfg    Config
	client *client
	files  *client          // for uploads and downloads, which take longer
	api    *slackapi.Client // over client
	pacer  *pacer
	state  *state
	gone   chan struct{} // capacity 1: asks Run to check the token
}

func newWeb(cfg Config, m *metrics, s *state) *web {
	c := newClient(cfg, m, cfg.CallTimeout)
	return &web{
		cfg: cfg, client: c, files: newClient(cfg, m, uploadTimeout), api: newAPI(cfg, c),
		pacer: newPacer(cfg.Now), state: s, gone: make(chan struct{}, 1),
	}
}

// call makes one call of the Web API at its pace and within its time. Its error is a
// *[adapters.Failure].
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

// bounded gives a call its deadline.
func (w *web) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, w.cfg.CallTimeout)
}

// failure maps a call's error for the port. One of the token shows in the state, and makes Run ask whether it is so.
func (w *web) failure(method string, err error) *adapters.Failure {
	f := asFailure(method, w.client.redact(err))
	if f.Kind == adapters.Auth {
		w.state.fail(f)
		if method != methodIdentity {
			w.doubt()
		}
	}
	return f
}

// again is how failures that are shown to show are retried.
func (w *web) again(show func(*adapters.Failure)) adapters.Retry {
	return adapters.Retry{First: firstPause, Longest: longestPause, Log: w.cfg.Log, Show: show}
}

// retry calls until it succeeds, ctx ends, or the token turns out to be wrong. Each failure is shown.
func (w *web) retry(ctx context.Context, what string, call func(context.Context) error, show func(*adapters.Failure)) error {
	return w.again(show).Do(ctx, what, call)
}

// removed makes Run ask whether the token still holds.
func (w *web) removed(event string) {
	w.cfg.Log.Warn("slack reports that the app was removed; checking the token", "event", event)
	w.doubt()
}

// doubt makes Run ask whether the token still holds; it does not wait for the answer.
func (w *web) doubt() {
	select {
	case w.gone <- struct{}{}:
	default: // it will be asked
	}
}

// slackURL checks that a URL leads to Slack, or to where the configured API is.
func (w *web) slackURL(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", errForeignHost // the error would quote the URL
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
