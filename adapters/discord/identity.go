package discord

import (
	"context"
	"errors"
	"net/http"

	"sluice/adapters"
)

var errNobody = errors.New("discord did not return the bot's identity")

// identity asks Discord for the bot's identity. It is safe for concurrent use.
type identity struct {
	api   *api
	state *state

	self adapters.Asked[user]
	app  adapters.Asked[application]
}

// whoami returns the bot's identity. It asks Discord only once.
func (who *identity) whoami(ctx context.Context) (*user, error) {
	return who.self.Get(ctx, func(ctx context.Context) (*user, error) {
		me, err := who.getMe(ctx)
		if err == nil {
			who.state.Identify(peer(me, nil))
		}
		return me, err
	})
}

func (who *identity) know(me *user) {
	who.self.Set(me)
	who.state.Identify(peer(me, nil))
}

func (who *identity) getMe(ctx context.Context) (*user, error) {
	var me user
	if err := who.api.call(ctx, request{method: http.MethodGet, path: at("/users/@me")}, &me); err != nil {
		return nil, err
	}
	if me.ID == "" {
		return nil, &adapters.Failure{Kind: adapters.Transient, Certain: true, Err: errNobody}
	}
	return &me, nil
}

// application returns the bot's application. It asks Discord only once. The id differs from the bot's for old bots.
func (who *identity) application(ctx context.Context) (*application, error) {
	return who.app.Get(ctx, who.getApplication)
}

func (who *identity) getApplication(ctx context.Context) (*application, error) {
	var app application
	err := who.api.call(ctx, request{method: http.MethodGet, path: at("/applications/@me")}, &app)
	return &app, err
}
