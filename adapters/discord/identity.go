package discord

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	"sluice/adapters"
)

var errNobody = errors.New("discord did not return the bot's identity")

// identity asks Discord who the bot is. Safe for concurrent use.
type identity struct {
	api   *api
	state *state

	ask  sync.Mutex // one question at a time
	self atomic.Pointer[user]
	app  atomic.Pointer[application]
}

// whoami is the bot itself, asked for once.
func (who *identity) whoami(ctx context.Context) (*user, error) {
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
	who.know(me)
	return me, nil
}

func (who *identity) know(me *user) {
	who.self.Store(me)
	who.state.identify(peer(me, nil))
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

// application is the bot's application, asked for once. Its id is the bot's own
// for young bots only.
func (who *identity) application(ctx context.Context) (*application, error) {
	if app := who.app.Load(); app != nil {
		return app, nil
	}
	app, err := who.getApplication(ctx)
	if err == nil {
		who.app.Store(app)
	}
	return app, err
}

func (who *identity) getApplication(ctx context.Context) (*application, error) {
	var app application
	err := who.api.call(ctx, request{method: http.MethodGet, path: at("/applications/@me")}, &app)
	return &app, err
}
