package slack

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"sluice/sessions"
)

const methodIdentity = "auth.test"

// identityCheck is how often Slack is asked whether the token still holds.
const identityCheck = 10 * time.Minute

// self is who the bot is.
type self struct {
	User sessions.UserID // of the bot user, "U…"
	Bot  string          // of the bot, "B…"
	Team string          // the workspace, "T…"
	Name string
}

func (s self) peer() sessions.Peer {
	return sessions.Peer{ID: s.User, Name: s.Name, Username: s.Name, Bot: true}
}

// identity asks Slack who the bot is and whether its token still holds. Safe for concurrent use.
type identity struct {
	web   *web
	state *state

	self atomic.Pointer[self] // set by the first auth.test that succeeds
	ask  sync.Mutex           // one auth.test at a time
}

// keepIdentity asks whether the token still holds, from time to time and when Slack says
// that the app was removed, until ctx ends or it holds no more. It calls holds if it does.
func (b *identity) keepIdentity(ctx context.Context, holds func()) error {
	ticker := time.NewTicker(identityCheck)
	defer ticker.Stop()
	for {
		select {
		case <-b.web.gone:
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
		if err := b.web.retry(ctx, methodIdentity, b.identify, b.state.fail); err != nil {
			return ignoreEnd(ctx, err)
		}
		holds()
	}
}

// identify asks Slack who the bot is and remembers it.
func (b *identity) identify(ctx context.Context) error {
	me, err := b.authTest(ctx)
	if err != nil {
		return err
	}
	b.state.heard()
	b.self.Store(me)
	b.state.identify(me.peer())
	return nil
}

// whoami is the bot itself, asked for once.
func (b *identity) whoami(ctx context.Context) (*self, error) {
	if me := b.self.Load(); me != nil {
		return me, nil
	}
	b.ask.Lock()
	defer b.ask.Unlock()
	if me := b.self.Load(); me != nil {
		return me, nil
	}
	if err := b.identify(ctx); err != nil {
		return nil, err
	}
	return b.self.Load(), nil
}

func (b *identity) authTest(ctx context.Context) (*self, error) {
	ctx, cancel := b.web.bounded(ctx)
	defer cancel()
	who, err := b.web.api.AuthTestContext(ctx)
	if err != nil {
		return nil, b.web.failure(methodIdentity, err)
	}
	return &self{User: sessions.UserID(who.UserID), Bot: who.BotID, Team: who.TeamID, Name: who.User}, nil
}
