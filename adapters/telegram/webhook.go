package telegram

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/go-telegram/bot"

	"sluice/adapters"
	"sluice/internal/pause"
)

// maxWebhookBody bounds a posted update.
const maxWebhookBody = 1 << 20

const secretHeader = "X-Telegram-Bot-Api-Secret-Token"

// keepWebhook sets the webhook, and again from time to time, until ctx ends.
func (a *Adapter) keepWebhook(ctx context.Context) error {
	for {
		if err := a.api.retry(ctx, "setWebhook", a.setWebhook); err != nil {
			return err
		}
		a.state.Set(adapters.Connected, "")
		if !pause.Whole(ctx, a.cfg.WebhookCheck) {
			return nil
		}
	}
}

func (a *Adapter) setWebhook(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.CallTimeout)
	defer cancel()
	_, err := a.api.sdk.SetWebhook(ctx, &bot.SetWebhookParams{
		URL: a.cfg.WebhookURL, SecretToken: string(a.cfg.WebhookSecret), AllowedUpdates: allowedUpdates,
	})
	if err != nil {
		return a.api.failure("setWebhook", err)
	}
	return nil
}

// ServeCallback handles one posted update. It answers 200 when the update is accepted or can never be, 401 for a
// wrong secret, 413 for a body over 1 MiB, 400 if it is not JSON, 405 if it is not a POST, 404 if the bot polls, and
// 503 if Telegram should retry.
func (a *Adapter) ServeCallback(w http.ResponseWriter, r *http.Request, in adapters.Acceptor) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	status := a.intake.serveCallback(w, r, in)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, http.StatusText(status)) // the client may have disconnected
}

func (k *intake) serveCallback(w http.ResponseWriter, r *http.Request, in adapters.Acceptor) int {
	switch {
	case r.Method != http.MethodPost:
		return http.StatusMethodNotAllowed
	case k.cfg.Mode != Webhook:
		return http.StatusNotFound
	case subtle.ConstantTimeCompare([]byte(r.Header.Get(secretHeader)), []byte(k.cfg.WebhookSecret)) != 1:
		return http.StatusUnauthorized
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxWebhookBody))
	if _, tooBig := errors.AsType[*http.MaxBytesError](err); tooBig {
		return http.StatusRequestEntityTooLarge
	}
	if err != nil || !json.Valid(body) {
		return http.StatusBadRequest
	}
	return k.takePosted(r.Context(), body, in)
}

func (k *intake) takePosted(ctx context.Context, body []byte, in adapters.Acceptor) int {
	u := k.readUpdate(body)
	self, err := k.bot.whoami(ctx)
	if err != nil {
		k.cfg.Log.Warn("webhook update not accepted: the bot's identity is not known yet", "error", err)
		return http.StatusServiceUnavailable
	}
	k.state.called()
	if err := k.acceptOne(ctx, in, &u, self); err != nil {
		k.cfg.Log.Warn("webhook update not accepted; Telegram will deliver it again", "error", err)
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}
