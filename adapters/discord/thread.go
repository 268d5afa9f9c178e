package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"sluice/adapters"
	"sluice/sessions"
)

// ReadThread returns the message that started a thread, and the newest messages before a given one. A post in a forum
// contains its first message, with the thread's id.
func (a *Adapter) ReadThread(ctx context.Context, route sessions.Route, before sessions.PlatformMessageID, limit int) ([]adapters.ThreadMessage, error) {
	thread := string(route.Thread)
	if !isID(thread) || limit <= 0 {
		return nil, nil
	}
	self, err := a.bot.whoami(ctx)
	if err != nil {
		return nil, err
	}
	query := url.Values{"limit": {strconv.Itoa(min(limit, maxMissed))}}
	if isID(string(before)) {
		query.Set("before", string(before))
	}
	var raw []json.RawMessage
	if err := a.api.call(ctx, request{method: http.MethodGet, path: at("/channels/{}/messages", thread), query: query.Encode()}, &raw); err != nil {
		return nil, err
	}
	var said []message
	for _, r := range raw {
		m, err := a.messages.readMessage("thread", r)
		if err != nil {
			a.messages.malformed(r, err)
		} else if isUserMessage(&m) {
			said = append(said, m)
		}
	}
	slices.SortFunc(said, byID)
	if root, ok, err := a.messages.starter(ctx, route, said); err != nil {
		return nil, err
	} else if ok {
		said = append([]message{root}, said[max(0, len(said)-limit+1):]...)
	}
	all := make([]adapters.ThreadMessage, 0, len(said))
	for i := range said {
		all = append(all, a.messages.threadMessage(route.Space, &said[i], self))
	}
	return all, nil
}

// starter returns the message that started a thread, if it was not read already. ok is false for a thread without one.
func (ms *messages) starter(ctx context.Context, route sessions.Route, said []message) (root message, ok bool, err error) {
	thread := string(route.Thread)
	if slices.ContainsFunc(said, func(m message) bool { return m.ID == thread }) {
		return root, false, nil
	}
	for _, channel := range []string{string(route.Conversation), thread} {
		var raw json.RawMessage
		if err := ms.api.optional(ctx, at("/channels/{}/messages/{}", channel, thread), &raw); err != nil {
			return root, false, err
		}
		if len(raw) == 0 {
			continue // the thread started without a message, or the message was deleted
		}
		root, err := ms.readMessage("thread", raw)
		if err != nil {
			ms.malformed(raw, err)
			return root, false, nil
		}
		return root, isUserMessage(&root), nil
	}
	return root, false, nil
}

func (ms *messages) threadMessage(guild string, m *message, self *user) adapters.ThreadMessage {
	out := adapters.ThreadMessage{ID: sessions.PlatformMessageID(m.ID)}
	for _, q := range ms.written(guild, m, self) {
		if q.Kind == "" {
			out.From = q.From
		}
		out.Text = strings.TrimSpace(out.Text + "\n" + q.Text)
	}
	for _, f := range attachments(m) {
		out.Files = append(out.Files, cmp.Or(f.Name, f.Kind))
	}
	return out
}
