package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	slackapi "github.com/slack-go/slack"

	"sluice/adapters"
	"sluice/sessions"
)

const methodReplies = "conversations.replies"

// threadPages bounds how much of a thread is looked through for its newest messages: 1,000.
const threadPages = 5

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
	form := url.Values{
		"channel": {string(route.Conversation)}, "ts": {string(route.Thread)}, "latest": {string(before)}, "limit": {strconv.Itoa(historyPage)},
	}
	var said []event
	for range threadPages {
		var page replies
		if err := a.call(ctx, paceKey{method: methodReplies}, func(ctx context.Context) error { return a.replies(ctx, form, &page) }); err != nil {
			return nil, err
		}
		for _, raw := range page.Messages {
			var e event
			if _, err := adapters.Decode(raw, &e); err == nil && e.TS != "" && e.TS < string(before) && isMessage(e.Subtype) {
				said = append(said, e)
			}
		}
		if len(said) > limit {
			said = append(said[:1], said[len(said)-limit+1:]...)
		}
		if page.Next.Cursor == "" {
			break
		}
		form.Set("cursor", page.Next.Cursor)
	}
	all := make([]adapters.ThreadMessage, 0, len(said))
	for i := range said {
		all = append(all, a.threadMessage(ctx, me, &said[i]))
	}
	return all, nil
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
