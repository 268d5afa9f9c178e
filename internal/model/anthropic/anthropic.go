// Package anthropic speaks Anthropic's Messages API.
package anthropic

import (
	"context"
	"net/http"
	"strings"
	"time"

	"sluice/internal/model/wire"
	"sluice/policy/flow"
	"sluice/sessions"
)

const (
	// DefaultBaseURL is Anthropic's own.
	DefaultBaseURL = "https://api.anthropic.com"
	apiVersion     = "2023-06-01"
	// defaultMaxTokens bounds an answer: the API wants a bound in each request.
	defaultMaxTokens = 8192
	defaultWindow    = 200_000 // of the models of 2024 and later
)

// Config is what a client needs.
type Config struct {
	Provider string // its name in the configuration
	APIKey   string
	BaseURL  string // empty for DefaultBaseURL
	Level    flow.Level
	Window   int // 0 for 200,000

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
	cfg.BaseURL = strings.TrimSuffix(strings.TrimSuffix(cfg.BaseURL, "/"), "/v1")
	if cfg.Window == 0 {
		cfg.Window = defaultWindow
	}
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

// ContextWindow implements [sessions.Model].
func (m *Model) ContextWindow() int { return m.client.cfg.Window }

// Classification implements [sessions.Classified].
func (m *Model) Classification() flow.Level { return m.client.cfg.Level }

// Complete implements [sessions.Model].
func (m *Model) Complete(ctx context.Context, req sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error) {
	a := &answer{on: on}
	p := m.prepare(req, a)
	if err := a.wire.Stream(ctx, m.client.cfg.BaseURL+"/v1/messages", p.header, p.body, a); err != nil {
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
	header.Set("X-Api-Key", cfg.APIKey)
	header.Set("Anthropic-Version", apiVersion)
	return &prepared{header: header, body: newRequest(m.name, req)}
}
