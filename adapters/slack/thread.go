package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"sluice/adapters"
	"sluice/sessions"
)

const (
	methodReplies = "conversations.replies"
	threadPage    = 999 // messages: the maximum of one response
	threadPages   = 16  // how many pages of one thread are read
)

// replies is a response of conversations.replies. Each message is read alone, so that an unknown shape loses only that message.
type replies struct {
	OK       bool              `json:"ok"`
	Error    string            `json:"error"`
	Messages []json.RawMessage `json:"messages"`
	Next     struct {
		Cursor string `json:"next_cursor"`
	} `json:"response_metadata"`
}

// ReadThread returns the root of a thread and the newest messages before a given one. Slack pages a thread from old to new:
// of a thread longer than threadPages pages, the result has the newest messages of those pages.
func (a *Adapter) ReadThread(ctx context.Context, route sessions.Route, before sessions.PlatformMessageID, limit int) ([]adapters.ThreadMessage, error) {
	if route.Thread == "" || limit <= 0 {
		return nil, nil
	}
	me, err := a.bot.whoami(ctx)
	if err != nil {
		return nil, err
	}
	form := url.Values{
		"channel": {string(route.Conversation)}, "ts": {string(route.Thread)},
		"latest": {string(before)}, "limit": {strconv.Itoa(threadPage)},
	}
	var root, said []event
	for range threadPages {
		var page replies
		err := a.web.call(ctx, paceKey{method: methodReplies}, func(ctx context.Context) error { return a.web.readReplies(ctx, form, &page) })
		if err != nil {
			return nil, err
		}
		for _, e := range page.events(string(before)) {
			if e.TS == string(route.Thread) {
				root = []event{e}
			} else {
				said = append(said, e)
			}
		}
		said = newest(said, limit-len(root))
		if page.Next.Cursor == "" {
			return a.reader.threadMessages(ctx, me, slices.Concat(root, said)), nil
		}
		form.Set("cursor", page.Next.Cursor)
	}
	a.cfg.Log.Warn("slack thread is too long to read to its end; using older messages",
		"conversation", route.Conversation, "thread", route.Thread, "read", threadPage*threadPages)
	return a.reader.threadMessages(ctx, me, slices.Concat(root, said)), nil
}

// newest returns the last messages, at most want.
func newest(said []event, want int) []event { return said[max(0, len(said)-want):] }

// events returns the messages of a page that are older than a given one.
func (r *replies) events(before string) []event {
	var all []event
	for _, raw := range r.Messages {
		var e event
		if _, err := adapters.Decode(raw, &e); err == nil && e.TS != "" && e.TS < before && isMessage(e.Subtype) {
			all = append(all, e)
		}
	}
	return all
}

func (n *reader) threadMessages(ctx context.Context, me *self, events []event) []adapters.ThreadMessage {
	all := make([]adapters.ThreadMessage, 0, len(events))
	for i := range events {
		all = append(all, n.threadMessage(ctx, me, &events[i]))
	}
	return all
}

func (n *reader) threadMessage(ctx context.Context, me *self, e *event) adapters.ThreadMessage {
	m := adapters.ThreadMessage{ID: sessions.PlatformMessageID(e.TS), From: n.sender(ctx, e)}
	text, _ := n.words(ctx, me, e)
	texts := []string{text}
	for _, q := range n.quotations(ctx, me, e) {
		texts = append(texts, q.Text)
	}
	m.Text = strings.TrimSpace(strings.Join(texts, "\n"))
	for _, f := range attachments(e.allFiles()) {
		m.Files = append(m.Files, cmp.Or(f.Name, f.Kind))
	}
	return m
}
