package telegram

import (
	"context"
	"fmt"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"sluice/adapters"
)

// The pauses between attempts.
const (
	firstPause   = 500 * time.Millisecond
	longestPause = 30 * time.Second
)

// api calls the Bot API and returns the port's failures. It is safe for concurrent use.
type api struct {
	cfg    Config
	client *client
	sdk    *bot.Bot // for rare calls, over client
	state  *state
}

func newAPI(cfg Config, m *metrics, s *state) (*api, error) {
	w := &api{cfg: cfg, client: newClient(cfg, m), state: s}
	var err error
	w.sdk, err = bot.New(string(cfg.Token), bot.WithServerURL(cfg.APIBase), bot.WithSkipGetMe(),
		bot.WithHTTPClient(cfg.CallTimeout, w.client), bot.WithErrorsHandler(w.sdkError))
	if err != nil {
		return nil, fmt.Errorf("make telegram client of account %s: %w", cfg.Account, w.client.redact(err))
	}
	return w, nil
}

// failure converts a call's error for the port, and records a revoked token.
func (w *api) failure(method string, err error) error {
	f := asFailure(method, w.client.redact(err))
	if f.Kind == adapters.Auth {
		w.state.Fail(f)
	}
	return f
}

// sdkError gets errors that the library can't return: failures to close pipes and bodies.
func (w *api) sdkError(err error) {
	w.cfg.Log.Debug("telegram library reported", "error", w.client.redact(err))
}

// retry calls until it succeeds, ctx ends, or the token turns out to be invalid. The account's state shows each
// failure.
func (w *api) retry(ctx context.Context, what string, call func(context.Context) error) error {
	r := adapters.Retry{First: firstPause, Longest: longestPause, Log: w.cfg.Log, Show: w.state.Fail}
	return r.Do(ctx, what, call)
}

func (w *api) getChat(ctx context.Context, name string) (*models.Chat, error) {
	ctx, cancel := context.WithTimeout(ctx, w.cfg.CallTimeout)
	defer cancel()
	var c models.Chat
	if err := w.client.call(ctx, methodChat, chatParams{name}, &c); err != nil {
		return nil, w.failure(methodChat, err)
	}
	return &c, nil
}
