// Package openai speaks the Chat Completions API, as OpenAI and many other servers have it.
package openai

import (
	"context"
	"net/http"
	"strings"
	"time"

	"sluice/internal/model/wire"
	"sluice/policy/flow"
	"sluice/sessions"
)

// DefaultBaseURL is OpenAI's own.
const DefaultBaseURL = "https://api.openai.com/v1"

// Config is what a client needs.
type Config struct {
	Provider string // its name in the configuration
	APIKey   string
	BaseURL  string // empty for DefaultBaseURL
	Level    flow.Level
	Window   int

	FirstByte, Idle time.Duration // 0 for the defaults of package wire
}

// Client is one provider.
type Client struct {
	cfg  Config
	http *http.Client
}

// New makes a client. It makes no request.
func New(cfg Config) *Client {
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL
	}
	cfg.BaseURL = strings.TrimSuffix(cfg.BaseURL, "/")
	cfg.APIKey = strings.TrimSpace(cfg.APIKey)
	return &Client{cfg: cfg, http: wire.NewHTTP()}
}

// Model is one of the provider's models.
func (c *Client) Model(name string) *Model { return &Model{client: c, name: name} }

// Model is one model behind the provider.
type Model struct {
	client *Client
	name   string
}

var (
	_ sessions.Model      = (*Model)(nil)
	_ sessions.Classified = (*Model)(nil)
)

// Name implements [sessions.Model].
func (m *Model) Name() string { return m.client.cfg.Provider + "/" + m.name }

// ContextWindow implements [sessions.Model]; 0 unless configured, because servers differ.
func (m *Model) ContextWindow() int { return m.client.cfg.Window }

// Classification implements [sessions.Classified].
func (m *Model) Classification() flow.Level { return m.client.cfg.Level }

// Complete implements [sessions.Model].
func (m *Model) Complete(ctx context.Context, req sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error) {
	a := &answer{on: on}
	p := m.prepare(req, a)
	if err := a.wire.Stream(ctx, m.client.cfg.BaseURL+"/chat/completions", p.header, p.body, a); err != nil {
		return sessions.Completion{}, err
	}
	return a.completion(), nil
}

// prepared is a request that is ready to be made.
type prepared struct {
	header http.Header
	body   any
}

// prepare makes the request. It is apart from the waiting, which so needs little stack.
func (m *Model) prepare(req sessions.Request, a *answer) *prepared {
	cfg := &m.client.cfg
	a.wire = wire.NewClient(wire.Config{
		HTTP: m.client.http, Model: m.Name(), Secret: cfg.APIKey, FirstByte: cfg.FirstByte, Idle: cfg.Idle,
	})
	header := http.Header{}
	if cfg.APIKey != "" {
		header.Set("Authorization", "Bearer "+cfg.APIKey)
	}
	return &prepared{header: header, body: newRequest(m.name, req)}
}
