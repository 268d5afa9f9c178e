package telegram

import (
	"context"

	"sluice/adapters"

	"github.com/go-telegram/bot/models"
)

// identity asks Telegram for the bot's profile. It is safe for concurrent use.
type identity struct {
	api   *api
	state *state

	self adapters.Asked[models.User]
}

// whoami returns the bot's user, which is requested once.
func (who *identity) whoami(ctx context.Context) (*models.User, error) {
	return who.self.Get(ctx, func(ctx context.Context) (*models.User, error) {
		me, err := who.getMe(ctx)
		if err == nil {
			who.state.Identify(peerOf(*me))
		}
		return me, err
	})
}

func (who *identity) getMe(ctx context.Context) (*models.User, error) {
	ctx, cancel := context.WithTimeout(ctx, who.api.cfg.CallTimeout)
	defer cancel()
	me, err := who.api.sdk.GetMe(ctx)
	if err != nil {
		return nil, who.api.failure("getMe", err)
	}
	return me, nil
}

// connect gets the bot's user and retries until it succeeds.
func (who *identity) connect(ctx context.Context) error {
	return who.api.retry(ctx, "getMe", func(ctx context.Context) error {
		_, err := who.whoami(ctx)
		return err
	})
}
