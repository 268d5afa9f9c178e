package telegram

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/go-telegram/bot/models"
)

// identity asks Telegram who the bot is. Safe for concurrent use.
type identity struct {
	api   *api
	state *state

	self atomic.Pointer[models.User] // set by the first getMe that succeeds
	ask  sync.Mutex                  // one getMe at a time
}

// whoami is the bot itself, asked for once.
func (who *identity) whoami(ctx context.Context) (*models.User, error) {
	if me := who.self.Load(); me != nil {
		return me, nil
	}
	who.ask.Lock()
	defer who.ask.Unlock()
	if me := who.self.Load(); me != nil {
		return me, nil
	}
	me, err := who.getMe(ctx)
	if err != nil {
		return nil, err
	}
	who.self.Store(me)
	who.state.identify(peerOf(*me))
	return me, nil
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

// connect learns who the bot is, trying until it knows.
func (who *identity) connect(ctx context.Context) error {
	return who.api.retry(ctx, "getMe", func(ctx context.Context) error {
		_, err := who.whoami(ctx)
		return err
	})
}
