package discord

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sluice/adapters"
)

// maxAnswer bounds a REST response. A hundred messages with all their embeds are well below it.
const maxAnswer = 16 << 20

// userAgent has the form that Discord requires of clients other than browsers.
const userAgent = "DiscordBot (https://sluice.dev, 1)"

// client calls Discord's REST API for one account. It shares nothing with another account's.
type client struct {
	base    string
	token   string
	timeout time.Duration
	http    *http.Client // no Timeout: each call's context has the deadline
	limits  *limits
	metrics *metrics
	account string
	log     *slog.Logger
}

func newClient(cfg Config, m *metrics) *client {
	return &client{
		base: cfg.APIBase, token: string(cfg.Token), timeout: cfg.CallTimeout, account: cfg.Account, log: cfg.Log,
		limits: newLimits(cfg.Now), metrics: m,
		http: &http.Client{
			Transport: adapters.NewTransport(64),
			// A redirect would send the token to another host.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// request is one REST call. Discord counts its limits by the path's template and its major parameter.
type request struct {
	method string
	path   path
	query  string
	body   any       // sent as JSON; nil for none
	file   *fileBody // sent instead, as multipart with body as payload_json
	open   bool      // the path holds its own credential (interactions, their webhooks): the token stays out
}

// path is a template with its ids.
type path struct {
	route string // "/channels/{}/messages"
	major string // the id that the limit is counted for: a channel, a guild, a webhook with its token
	text  string // "/channels/123/messages"
}

// at fills a template: each {} takes the next id. The first id is the major parameter of the routes that have one.
func at(template string, ids ...string) path {
	p := path{route: template}
	var b strings.Builder
	rest := template
	for _, id := range ids {
		before, after, _ := strings.Cut(rest, "{}")
		b.WriteString(before)
		b.WriteString(url.PathEscape(id))
		rest = after
	}
	b.WriteString(rest)
	p.text = b.String()
	for _, prefix := range []string{"/channels/", "/guilds/", "/webhooks/"} {
		if strings.HasPrefix(template, prefix) && len(ids) > 0 {
			p.major = ids[0]
		}
	}
	if strings.HasPrefix(template, "/webhooks/{}/{}") {
		p.major += "/" + ids[1]
	}
	return p
}

// call makes one request and decodes the response into result, which may be nil. It does not call if a limit is used up.
func (c *client) call(ctx context.Context, req request, result any) (err error) {
	defer func() { c.metrics.called(c.account, req, err) }()
	if wait, wide := c.limits.exhausted(req); wait > 0 {
		return &apiError{Status: http.StatusTooManyRequests, Message: "limit is used up, not called", RetryAfter: wait, Global: wide, NotMade: true}
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	r, err := c.build(ctx, req)
	if err != nil {
		return err
	}
	answer, err := c.do(r, req)
	if err != nil || result == nil || len(answer) == 0 {
		return err
	}
	unread, err := adapters.Decode(answer, result)
	if err != nil {
		return &lostError{Sent: true, Err: fmt.Errorf("read answer: %w", err)}
	}
	if unread != "" {
		c.log.Warn("discord answer read in part: a field has an unexpected type", "call", req.method+" "+req.path.route, "field", unread)
	}
	return nil
}

func (c *client) build(ctx context.Context, req request) (*http.Request, error) {
	var body io.Reader
	kind, length := "", int64(0)
	switch {
	case req.file != nil:
		var err error
		if body, kind, length, err = req.file.open(ctx, req.body); err != nil {
			return nil, err
		}
	case req.body != nil:
		var buf bytes.Buffer
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(false) // the text is full of < and &
		if err := enc.Encode(req.body); err != nil {
			return nil, fmt.Errorf("encode %s: %w", req.path.route, err)
		}
		body, kind, length = &buf, "application/json", int64(buf.Len())
	}
	address := c.base + req.path.text
	if req.query != "" {
		address += "?" + req.query
	}
	r, err := http.NewRequestWithContext(ctx, req.method, address, body)
	if err != nil {
		return nil, c.redact(err, req)
	}
	r.ContentLength = length
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	if !req.open {
		r.Header.Set("Authorization", "Bot "+c.token)
	}
	r.Header.Set("User-Agent", userAgent)
	return r, nil
}

// do returns the body of a response with a 2xx status, and an error for any other.
func (c *client) do(r *http.Request, req request) ([]byte, error) {
	resp, sent, err := adapters.Request(c.http, r)
	if err != nil {
		return nil, &lostError{Sent: sent, Err: c.redact(err, req)}
	}
	defer func() { _ = resp.Body.Close() }() // only read from
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err == nil && len(answer) > maxAnswer {
		err = fmt.Errorf("answer is longer than %d bytes", maxAnswer)
	}
	if err != nil {
		return nil, &lostError{Sent: true, Err: c.redact(err, req)}
	}
	refused := refusal(resp, answer)
	c.limits.learn(req, resp.Header, refused)
	if refused != nil {
		return nil, refused
	}
	return answer, nil
}

// redact removes the credentials from an error: net/http puts the URL into its errors.
func (c *client) redact(err error, req request) error {
	if u, ok := err.(*url.Error); ok { //nolint:errorlint // only the outermost: what it wraps stays
		err = u.Err
	}
	text := err.Error()
	if !strings.Contains(text, c.token) && !(req.open && strings.Contains(text, req.path.text)) {
		return err
	}
	text = strings.ReplaceAll(strings.ReplaceAll(text, c.token, "<secret>"), req.path.text, req.path.route)
	return errors.New(text)
}

// closeIdle makes the next call take a new connection.
func (c *client) closeIdle() { c.http.CloseIdleConnections() }
