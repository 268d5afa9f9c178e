package telegramtest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"time"
)

// webhookParallel is how many updates are posted at once, each of another chat.
const webhookParallel = 4

// The pauses before a webhook is retried; shorter than Telegram's, for tests.
const (
	webhookPause    = 20 * time.Millisecond
	webhookMaxPause = time.Second
	webhookTimeout  = 30 * time.Second
)

// webhook is where a bot wants its updates sent. Guarded by srv.mu.
type webhook struct {
	url    string
	secret string
	stop   context.CancelFunc
}

func (b *Bot) setWebhook(req *request) ([]byte, *apiError) {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	if req.DropPendingUpdates {
		b.queue = nil
	}
	if req.URL != "" && req.URL == b.webhook.url && req.SecretToken == b.webhook.secret {
		b.allowed = req.AllowedUpdates
		return []byte("true"), nil
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
	busy := map[string]bool{}
	b.webhook = webhook{url: req.URL, secret: req.SecretToken, stop: cancel}
	for range webhookParallel {
		if ctx.Err() != nil {
			break // the server closes, and waits for what runs already
		}
		b.srv.wg.Go(func() { b.deliver(ctx, req.URL, req.SecretToken, busy) })
	}
	return []byte("true"), nil
}

func (b *Bot) webhookInfo() []byte {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	return fmt.Appendf(nil, `{"url":%q,"has_custom_certificate":false,"pending_update_count":%d}`, b.webhook.url, len(b.queue))
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
// busy are the chats that one is being posted of, guarded by srv.mu.
func (b *Bot) deliver(ctx context.Context, url, secret string, busy map[string]bool) {
	client := &http.Client{Timeout: webhookTimeout, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	pause := webhookPause
	for {
		var u update
		if b.srv.wait(ctx, func() (ok bool) { u, ok = b.take(busy); return ok && ctx.Err() == nil }) != nil {
			return
		}
		taken := post(ctx, client, url, secret, u.json)
		b.posted(u, taken, busy)
		if taken {
			pause = webhookPause
			continue
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		pause = min(2*pause, webhookMaxPause)
	}
}

var chatID = regexp.MustCompile(`"chat":\{"id":(-?\d+)`)

func chatOf(u update) string { return string(chatID.Find(u.json)) }

// take is the first update of a chat that none is being posted of; srv.mu is held.
func (b *Bot) take(busy map[string]bool) (update, bool) {
	for _, u := range b.queue {
		if chat := chatOf(u); !busy[chat] {
			busy[chat] = true
			return u, true
		}
	}
	return update{}, false
}

// posted puts an update away that was taken; one that was not stays the first of its chat.
func (b *Bot) posted(u update, taken bool, busy map[string]bool) {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	delete(busy, chatOf(u))
	at := slices.IndexFunc(b.queue, func(q update) bool { return q.id == u.id })
	if taken && at >= 0 {
		b.queue = slices.Delete(b.queue, at, at+1)
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
