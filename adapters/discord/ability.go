package discord

import (
	"context"
	"net/http"
	"strings"
	"time"

	"sluice/adapters"
	"sluice/sessions"
)

// Edit replaces a message's text and buttons.
func (a *Adapter) Edit(ctx context.Context, id sessions.PlatformMessageID, out adapters.Outbound) error {
	body, err := compose(out)
	if err != nil {
		return err
	}
	if app, token, ok := strings.Cut(out.Route.Handle, "/"); ok {
		p := at("/webhooks/{}/{}/messages/{}", app, token, string(id))
		return a.api.call(ctx, request{method: http.MethodPatch, path: p, open: true, body: changed(body)}, nil)
	}
	p, err := messagePath(out.Route, id)
	if err != nil {
		return err
	}
	return a.api.call(ctx, request{method: http.MethodPatch, path: p, body: changed(body)}, nil)
}

func messagePath(r sessions.Route, id sessions.PlatformMessageID) (path, error) {
	channelID, err := target(r)
	return at("/channels/{}/messages/{}", channelID, string(id)), err
}

// Delete deletes a message.
func (a *Adapter) Delete(ctx context.Context, route sessions.Route, id sessions.PlatformMessageID) error {
	p, err := messagePath(route, id)
	if err != nil {
		return err
	}
	err = a.api.call(ctx, request{method: http.MethodDelete, path: p}, nil)
	if refusedWith(err, codeUnknownMessage) {
		return nil
	}
	return err
}

// React adds the bot's reaction to a message, or removes it. An emoji of a guild is written "name:id".
func (a *Adapter) React(ctx context.Context, route sessions.Route, id sessions.PlatformMessageID, r adapters.Reaction) error {
	channelID, err := target(route)
	if err != nil {
		return err
	}
	req := request{method: http.MethodPut, path: at("/channels/{}/messages/{}/reactions/{}/@me", channelID, string(id), r.Emoji)}
	if r.Removed {
		req.method = http.MethodDelete
	}
	err = a.api.call(ctx, req, nil)
	if r.Removed && refusedWith(err, codeUnknownMessage, codeUnknownEmoji) {
		return nil
	}
	return err
}

// Typing shows for ten seconds that the bot types. The sender of a command already sees "thinking…".
func (a *Adapter) Typing(ctx context.Context, route sessions.Route) error {
	channelID, err := target(route)
	if err != nil || route.Handle != "" {
		return err
	}
	return a.api.call(ctx, request{method: http.MethodPost, path: at("/channels/{}/typing", channelID)}, nil)
}

// PreviewEvery is a second and a half: Discord allows five edits in five seconds in a channel, and the answer needs some of
// them.
func (a *Adapter) PreviewEvery() time.Duration { return 1500 * time.Millisecond }
