package telegramtest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// The pauses before a webhook is tried again; shorter than Telegram's, for tests.
const (
	webhookPause    = 20 * time.Millisecond
	webhookMaxPause = time.Second
	webhookTimeout  = 30 * time.Second
)

// webhook is where a bot wants its updates sent. Guarded by srv.mu.
type webhook struct {
	url  string
	wake chan struct{} // capacity 1; nil without a webhook
	stop context.CancelFunc
}

func (w *webhook) signal() {
	select {
	case w.wake <- struct{}{}:
	default: // awake already, or no webhook
	}
}

func (b *Bot) setWebhook(req *request) ([]byte, *apiError) {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	if req.DropPendingUpdates {
		b.queue = nil
	}
	if b.webhook.stop != nil {
		b.webhook.stop()
	}
	b.webhook = webhook{}
	b.allowed = req.AllowedUpdates
	b.srv.notify()
	if req.URL == "" {
		return []byte("true"), nil
	}
	b.interruptPoll(&apiError{Code: 409, Description: "Conflict: terminated by setWebhook request"})
	ctx, cancel := context.WithCancel(b.srv.closing)
	wake := make(chan struct{}, 1)
	b.webhook = webhook{url: req.URL, stop: cancel, wake: wake}
	b.webhook.signal()
	b.srv.wg.Go(func() { b.deliver(ctx, req.URL, req.SecretToken, wake) })
	return []byte("true"), nil
}

// WebhookURL is the webhook that is set; empty for none.
func (b *Bot) WebhookURL() string {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	return b.webhook.url
}

// WaitWebhook waits until a webhook is set.
func (b *Bot) WaitWebhook(ctx context.Context) error {
	if err := b.srv.wait(ctx, func() bool { return b.webhook.url != "" }); err != nil {
		return fmt.Errorf("wait for a webhook: %w", err)
	}
	return nil
}

// deliver posts one update after the other until each was answered with a 2xx.
func (b *Bot) deliver(ctx context.Context, url, secret string, wake <-chan struct{}) {
	client := &http.Client{Timeout: webhookTimeout, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	pause := webhookPause
	for ctx.Err() == nil {
		u, ok := b.first()
		switch {
		case !ok:
			select {
			case <-wake:
			case <-ctx.Done():
			}
		case post(ctx, client, url, secret, u.json):
			b.delivered(u)
			pause = webhookPause
		default:
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
			pause = min(2*pause, webhookMaxPause)
		}
	}
}

func (b *Bot) first() (update, bool) {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	if len(b.queue) == 0 {
		return update{}, false
	}
	return b.queue[0], true
}

func (b *Bot) delivered(u update) {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	for i := range b.queue {
		if b.queue[i].id == u.id {
			b.queue = append(b.queue[:i:i], b.queue[i+1:]...)
			break
		}
	}
	b.srv.notify()
}

// post reports whether an update was taken: answered with a 2xx.
func post(ctx context.Context, client *http.Client, url, secret string, body []byte) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return false
	}
	r.Header.Set("Content-Type", "application/json")
	if secret != "" {
		r.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
	}
	resp, err := client.Do(r)
	if err != nil {
		return false
	}
	defer func() { _ = resp.Body.Close() }() // only read from
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxBody))
	return resp.StatusCode/100 == 2
}
