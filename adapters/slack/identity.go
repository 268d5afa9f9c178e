package slack

import (
	"context"
	"time"

	"sluice/adapters"
	"sluice/sessions"
)

const methodIdentity = "auth.test"

// identityCheck is the time between two checks of the token.
const identityCheck = 10 * time.Minute

// self identifies the bot.
type self struct {
	User sessions.UserID // of the bot user, "U…"
	Bot  string          // of the bot, "B…"
	Team string          // the workspace, "T…"
	Name string
}

func (s self) peer() sessions.Peer {
	return sessions.Peer{ID: s.User, Name: s.Name, Username: s.Name, Bot: true}
}

// identity asks Slack for the bot's identity and checks its token. It is safe for concurrent use.
type identity struct {
	web   *web
	state *adapters.Tracker

	self adapters.Asked[self]
}

// keepIdentity checks the token from time to time, and when Slack reports that the app was removed, until ctx ends or the
// token is invalid. It calls holds after each successful check.
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
		if err := b.web.retry(ctx, methodIdentity, b.identify, b.state.Fail); err != nil {
			return ignoreEnd(ctx, err)
		}
		holds()
	}
}

// identify asks Slack for the bot's identity and remembers it.
func (b *identity) identify(ctx context.Context) error {
	me, err := b.recognize(ctx)
	if err == nil {
		b.self.Set(me)
	}
	return err
}

// recognize asks Slack for the bot's identity, and shows it in the account's state.
func (b *identity) recognize(ctx context.Context) (*self, error) {
	me, err := b.authTest(ctx)
	if err == nil {
		b.state.Heard()
		b.state.Identify(me.peer())
	}
	return me, err
}

// whoami returns the bot's identity. It asks Slack only once.
func (b *identity) whoami(ctx context.Context) (*self, error) {
	return b.self.Get(ctx, b.recognize)
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
