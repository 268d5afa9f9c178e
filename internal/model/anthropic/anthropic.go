// Package anthropic speaks Anthropic's Messages API.
package anthropic

import (
	"context"
	"encoding/json"
	"fmt"
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
	cfg := m.client.cfg
	w := wire.NewClient(m.client.http, m.Name(), cfg.FirstByte, cfg.Idle)
	header := http.Header{}
	header.Set("X-Api-Key", cfg.APIKey)
	header.Set("Anthropic-Version", apiVersion)
	a := &answer{on: on, wire: w}
	err := w.Stream(ctx, cfg.BaseURL+"/v1/messages", header, newRequest(m.name, req), a.event)
	if err != nil {
		return sessions.Completion{}, err
	}
	return a.completion(), nil
}

// event is one event of the stream; which fields it has depends on its type.
type event struct {
	Index   int `json:"index"`
	Message struct {
		Usage usage `json:"usage"`
	} `json:"message"`
	ContentBlock struct {
		Type string `json:"type"`
		ID   string `json:"id"`
		Name string `json:"name"`
		Text string `json:"text"`
	} `json:"content_block"`
	Delta struct {
		Text        string `json:"text"`
		Thinking    string `json:"thinking"`
		Signature   string `json:"signature"`
		PartialJSON string `json:"partial_json"`
		StopReason  string `json:"stop_reason"`
	} `json:"delta"`
	Usage usage `json:"usage"`
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
}

type usage struct {
	Input      int `json:"input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	Output     int `json:"output_tokens"`
}

// answer puts a streamed answer together.
type answer struct {
	on     func(sessions.Chunk)
	wire   *wire.Client
	blocks []*block
	usage  sessions.Usage
	stop   string
}

type block struct {
	part sessions.Part
	text strings.Builder
}

// blocksMost bounds the blocks of one answer, against a server that counts wrongly.
const blocksMost = 256

// event takes one event. Those that it does not know are left out, as the API asks.
func (a *answer) event(name string, data []byte) (done bool, err error) {
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return false, a.wire.Fail(sessions.ModelCut, fmt.Errorf("an event is no JSON: %w", err))
	}
	switch name {
	case "message_start":
		u := e.Message.Usage
		a.usage = sessions.Usage{InputTokens: u.Input + u.CacheWrite + u.CacheRead, CachedTokens: u.CacheRead, OutputTokens: u.Output}
	case "content_block_start":
		a.begin(e)
	case "content_block_delta":
		a.delta(e)
	case "message_delta":
		a.stop = e.Delta.StopReason
		a.usage.OutputTokens = max(a.usage.OutputTokens, e.Usage.Output)
	case "message_stop":
		return true, nil
	case "error":
		return false, a.failed(e)
	}
	return false, nil
}

// failed is an error inside a stream that had begun well.
func (a *answer) failed(e event) error {
	err := fmt.Errorf("%s: %s", e.Error.Type, e.Error.Message)
	switch e.Error.Type {
	case "rate_limit_error":
		return a.wire.Fail(sessions.ModelRateLimited, err)
	case "authentication_error", "permission_error":
		return a.wire.Fail(sessions.ModelAuth, err)
	case "invalid_request_error":
		return a.wire.Fail(wire.KindOf(http.StatusBadRequest, e.Error.Message), err)
	}
	return a.wire.Fail(sessions.ModelOverloaded, err)
}

func (a *answer) begin(e event) {
	if e.Index < 0 || e.Index >= blocksMost {
		return
	}
	for len(a.blocks) <= e.Index {
		a.blocks = append(a.blocks, &block{})
	}
	b := a.blocks[e.Index]
	switch e.ContentBlock.Type {
	case "text":
		b.part.Type = sessions.PartText
		a.say(b, e.ContentBlock.Text)
	case "thinking":
		b.part.Type = sessions.PartThinking
	case "tool_use":
		b.part = sessions.Part{Type: sessions.PartToolCall, CallID: e.ContentBlock.ID, Tool: e.ContentBlock.Name}
		a.on(sessions.Chunk{Type: sessions.PartToolCall, CallID: b.part.CallID, Tool: b.part.Tool})
	}
}

func (a *answer) delta(e event) {
	if e.Index < 0 || e.Index >= len(a.blocks) {
		return
	}
	b := a.blocks[e.Index]
	b.part.Signature += e.Delta.Signature
	b.text.WriteString(e.Delta.PartialJSON)
	a.say(b, e.Delta.Thinking)
	a.say(b, e.Delta.Text)
}

func (a *answer) say(b *block, text string) {
	if text == "" {
		return
	}
	b.text.WriteString(text)
	a.on(sessions.Chunk{Type: b.part.Type, Text: text})
}

func (a *answer) completion() sessions.Completion {
	done := sessions.Completion{Usage: a.usage, Truncated: a.stop == "max_tokens"}
	for _, b := range a.blocks {
		switch {
		case b.part.Type == sessions.PartToolCall:
			b.part.Args = wire.Args(b.text.String())
		case b.part.Type == "" || b.text.Len() == 0:
			continue
		default:
			b.part.Text = strings.ToValidUTF8(b.text.String(), "\uFFFD")
		}
		done.Parts = append(done.Parts, b.part)
	}
	return done
}
