package wire

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"sluice/internal/aside"
	"sluice/policy/flow"
	"sluice/sessions"
)

// ProviderConfig is the configuration that a provider's models share.
type ProviderConfig struct {
	Name    string // the name in the configuration, and the first half of its models' names
	APIKey  string
	BaseURL string            // without a slash at its end
	Level   flow.Level        // the highest level of data that may be sent to it
	Window  int               // tokens of a prompt and its answer; 0: unknown
	Headers map[string]string // of each request, besides the protocol's own

	Connect, FirstByte, Idle time.Duration // 0: the default
	Total                    time.Duration // of a whole answer; 0: no limit
	Proxy                    string        // empty: as the environment says; [NoProxy]: none
}

// Protocol is the API of one kind of provider. Its Form encodes the elements of the body's member "messages", each
// preceded by a comma.
type Protocol interface {
	sessions.Form
	// Prepare returns the request of a completion: the path below the base URL, the headers besides the content type,
	// and the body without messages and tools.
	Prepare(apiKey, model string, req *sessions.Request) (path string, header http.Header, body Body)
	// Tool returns a tool as an element of the body's member "tools".
	Tool(t sessions.ToolSpec) any
	// MaxTemperature returns the highest temperature that the API accepts.
	MaxTemperature() float32
	// Begin returns an assembler for the answer. It passes each chunk to on and creates its errors with fail.
	Begin(on func(sessions.Chunk), fail Fail) Completed
}

// Fail creates an error of a model.
type Fail func(kind sessions.ModelErrorKind, err error) *sessions.ModelError

// Completed is an answer that returns the completion when it is whole.
type Completed interface {
	Answer
	Completion() sessions.Completion
}

// Provider is one configured provider. It is safe for concurrent use.
type Provider struct {
	cfg       ProviderConfig
	protocol  Protocol
	transport http.RoundTripper
	tools     toolCache
}

// NewProvider creates a provider. It sends no request.
func NewProvider(cfg ProviderConfig, protocol Protocol) *Provider {
	cfg.APIKey = strings.TrimSpace(cfg.APIKey)
	return &Provider{cfg: cfg, protocol: protocol, transport: cfg.Transport()}
}

// Level returns the highest level of data that may be sent to the provider.
func (p *Provider) Level() flow.Level { return p.cfg.Level }

// Model returns one of the provider's models.
func (p *Provider) Model(name string) *Model { return &Model{provider: p, name: name} }

// Model is one model of a provider.
type Model struct {
	provider *Provider
	name     string // the provider's name for it
}

var (
	_ sessions.Model      = (*Model)(nil)
	_ sessions.Classified = (*Model)(nil)
	_ sessions.Tempered   = (*Model)(nil)
)

// Name implements [sessions.Model].
func (m *Model) Name() string { return m.provider.cfg.Name + "/" + m.name }

// ContextWindow implements [sessions.Model].
func (m *Model) ContextWindow() int { return m.provider.cfg.Window }

// Classification implements [sessions.Classified].
func (m *Model) Classification() flow.Level { return m.provider.cfg.Level }

// MaxTemperature implements [sessions.Tempered].
func (m *Model) MaxTemperature() float32 { return m.provider.protocol.MaxTemperature() }

// Complete implements [sessions.Model].
func (m *Model) Complete(ctx context.Context, req sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error) {
	var c *call
	var err error
	aside.Do(func() { c, err = m.begin(ctx, &req, on) })
	if err == nil {
		err = c.client.finish(c.request, c.answer)
	}
	if err != nil {
		return sessions.Completion{}, err
	}
	return c.answer.Completion(), nil
}

// call is a prepared completion.
type call struct {
	client  *Client
	request *ongoing
	answer  Completed
}

// begin prepares the call.
func (m *Model) begin(ctx context.Context, req *sessions.Request, on func(sessions.Chunk)) (*call, error) {
	cfg := &m.provider.cfg
	c := &call{client: NewClient(Config{
		Transport: m.provider.transport, Model: m.Name(), Secret: cfg.APIKey, FirstByte: cfg.FirstByte, Idle: cfg.Idle, Total: cfg.Total,
	})}
	tools, err := m.provider.tools.get(req.Tools, m.provider.protocol.Tool)
	if err != nil {
		return nil, c.client.Fail(sessions.ModelRefused, err)
	}
	path, header, body := m.provider.protocol.Prepare(cfg.APIKey, m.name, req)
	for name, value := range cfg.Headers {
		header.Set(name, value)
	}
	body.Tools = tools
	if body.Messages.Text, body.Messages.Close, err = req.Encoded.Text(m.provider.protocol, req.Messages); err != nil {
		return nil, c.client.Fail(sessions.ModelRefused, fmt.Errorf("encode messages: %w", err))
	}
	if c.request, err = c.client.begin(ctx, cfg.BaseURL+path, header, body); err != nil {
		return nil, err
	}
	c.answer = m.provider.protocol.Begin(on, c.client.Fail)
	return c, nil
}
