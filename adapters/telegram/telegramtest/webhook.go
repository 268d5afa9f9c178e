package telegramtest

import (
	"bytes"
	"context"
	"encoding/json"
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
	url, secret string
	wake        chan struct{} // capacity 1; nil without a webhook
	stop        context.CancelFunc
	lastError   string
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
	b.srv.notify()
	if req.URL == "" {
		return []byte("true"), nil
	}
	b.interruptPoll(&apiError{Code: 409, Description: "Conflict: terminated by setWebhook request"})
	ctx, cancel := context.WithCancel(b.srv.closing)
	wake := make(chan struct{}, 1)
	b.webhook = webhook{url: req.URL, secret: req.SecretToken, stop: cancel, wake: wake}
	b.webhook.signal()
	b.srv.wg.Go(func() { b.deliver(ctx, req.URL, req.SecretToken, wake) })
	return []byte("true"), nil
}

func (b *Bot) webhookInfo() []byte {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	info, _ := json.Marshal(struct { // plain fields always marshal
		URL         string `json:"url"`
		Certificate bool   `json:"has_custom_certificate"`
		Pending     int    `json:"pending_update_count"`
		LastError   string `json:"last_error_message,omitempty"`
	}{b.webhook.url, false, len(b.queue), b.webhook.lastError})
	return info
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
		var wait <-chan time.Time
		if ok {
			failure := post(ctx, client, url, secret, u.json)
			if failure == "" {
				b.delivered(u)
				pause = webhookPause
				continue
			}
			b.webhookFailed(failure)
			wait = time.After(pause)
			pause = min(2*pause, webhookMaxPause)
			wakeAfter(ctx, wait)
			continue
		}
		select {
		case <-wake:
		case <-ctx.Done():
		}
	}
}

func wakeAfter(ctx context.Context, wait <-chan time.Time) {
	select {
	case <-wait:
	case <-ctx.Done():
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

func (b *Bot) webhookFailed(why string) {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	b.webhook.lastError = why
}

// post gives "" for a 2xx and what went wrong otherwise.
func post(ctx context.Context, client *http.Client, url, secret string, body []byte) string {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err.Error()
	}
	r.Header.Set("Content-Type", "application/json")
	if secret != "" {
		r.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
	}
	resp, err := client.Do(r)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = resp.Body.Close() }() // only read from
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxBody))
	if resp.StatusCode/100 != 2 {
		return "Wrong response from the webhook: " + resp.Status
	}
	return ""
}
