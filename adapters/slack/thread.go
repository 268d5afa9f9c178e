package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	slackapi "github.com/slack-go/slack"

	"sluice/adapters"
	"sluice/sessions"
)

const methodReplies = "conversations.replies"

// replies is an answer of conversations.replies. Each message is read alone, so that one of a new shape costs no other.
type replies struct {
	OK       bool              `json:"ok"`
	Error    string            `json:"error"`
	Messages []json.RawMessage `json:"messages"`
	Next     struct {
		Cursor string `json:"next_cursor"`
	} `json:"response_metadata"`
}

// ReadThread gives the root of a thread and the newest messages before one.
func (a *Adapter) ReadThread(ctx context.Context, route sessions.Route, before sessions.PlatformMessageID, limit int) ([]adapters.ThreadMessage, error) {
	if route.Thread == "" || limit <= 0 {
		return nil, nil
	}
	me, err := a.whoami(ctx)
	if err != nil {
		return nil, err
	}
	t := thread{Adapter: a, channel: string(route.Conversation), root: string(route.Thread), before: string(before)}
	first, err := t.read(ctx, 0)
	if err != nil {
		return nil, err
	}
	said := first.said
	var root []event
	if len(said) > 0 && said[0].TS == t.root {
		root, said = said[:1], said[1:]
	}
	want := limit - len(root)
	if !first.all && want > 0 {
		first.said = said
		var found bool
		said, found, err = newest(first, momentOf(t.before).UnixMicro(), want, func(from int64) (repliesPage, error) { return t.read(ctx, from) })
		if err != nil {
			return nil, err
		}
		if !found {
			a.cfg.Log.Warn("slack thread is too long to find its newest messages, older ones stand for them", "conversation", t.channel, "thread", t.root)
		}
	}
	all := make([]adapters.ThreadMessage, 0, limit)
	for _, e := range slices.Concat(root, lastOf(said, want)) {
		all = append(all, a.threadMessage(ctx, me, &e))
	}
	return all, nil
}

// thread is a thread up to a message.
type thread struct {
	*Adapter
	channel, root, before string
}

// read reads a page of what was said from a time on, in microseconds. Only the page from the beginning has the root.
func (t thread) read(ctx context.Context, from int64) (repliesPage, error) {
	form := url.Values{"channel": {t.channel}, "ts": {t.root}, "latest": {t.before}, "limit": {strconv.Itoa(historyPage)}}
	if from > 0 {
		form.Set("oldest", timestamp(time.UnixMicro(from)))
		form.Set("inclusive", "true")
	}
	var got replies
	if err := t.call(ctx, paceKey{method: methodReplies}, func(ctx context.Context) error { return t.replies(ctx, form, &got) }); err != nil {
		return repliesPage{}, err
	}
	page := repliesPage{all: got.Next.Cursor == ""}
	for _, raw := range got.Messages {
		var e event
		if _, err := adapters.Decode(raw, &e); err != nil || e.TS == "" || e.TS >= t.before || (e.TS == t.root && from > 0) {
			continue
		}
		page.last = max(page.last, momentOf(e.TS).UnixMicro())
		if isMessage(e.Subtype) {
			page.said = append(page.said, e)
		}
	}
	return page, nil
}

func (a *Adapter) threadMessage(ctx context.Context, me *self, e *event) adapters.ThreadMessage {
	m := adapters.ThreadMessage{ID: sessions.PlatformMessageID(e.TS), From: a.sender(ctx, e)}
	text, _ := a.words(ctx, me, e)
	texts := []string{text}
	for _, q := range a.quotations(ctx, me, e) {
		texts = append(texts, q.Text)
	}
	m.Text = strings.TrimSpace(strings.Join(texts, "\n"))
	for _, f := range attachments(e.allFiles()) {
		m.Files = append(m.Files, or(f.Name, f.Kind))
	}
	return m
}

func (a *Adapter) replies(ctx context.Context, form url.Values, page *replies) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.cfg.APIBase+methodReplies, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Authorization", "Bearer "+string(a.cfg.BotToken))
	answer, err := a.client.do(r, methodReplies)
	if err != nil {
		return err
	}
	if _, err := adapters.Decode(answer, page); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	if !page.OK {
		return slackapi.SlackErrorResponse{Err: page.Error}
	}
	return nil
}
