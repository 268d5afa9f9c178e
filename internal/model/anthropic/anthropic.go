// Package anthropic is a client of Anthropic's Messages API.
package anthropic

import (
	"cmp"
	"net/http"
	"strings"

	"sluice/internal/model/wire"
	"sluice/sessions"
)

const (
	// DefaultBaseURL is the address of Anthropic's own API.
	DefaultBaseURL = "https://api.anthropic.com"
	apiVersion     = "2023-06-01"
	// defaultMaxTokens limits an answer: the API requires a limit in each request.
	defaultMaxTokens = 8192
	// MaxTemperature is the highest temperature that the API accepts.
	MaxTemperature = 1
	defaultWindow  = 200_000 // of models from 2024 and later
)

// New creates a provider. An empty base URL means [DefaultBaseURL], an unknown window 200,000 tokens.
func New(cfg wire.ProviderConfig) *wire.Provider {
	cfg.BaseURL = strings.TrimSuffix(strings.TrimSuffix(cmp.Or(cfg.BaseURL, DefaultBaseURL), "/"), "/v1")
	own := cfg.BaseURL == DefaultBaseURL
	cfg.Window = cmp.Or(cfg.Window, defaultWindow)
	return wire.NewProvider(cfg, protocol{own})
}

// protocol is the API.
type protocol struct {
	own bool // Anthropic's own servers; others may not know what is new in it
}

// Prepare implements [wire.Protocol].
func (p protocol) Prepare(apiKey, model string, req *sessions.Request) (path string, header http.Header, body wire.Body) {
	header = http.Header{}
	header.Set("X-Api-Key", apiKey)
	header.Set("Anthropic-Version", apiVersion)
	r := newRequest(model, req)
	if p.own {
		r.Cache = &cache{"ephemeral"}
	}
	body.Object = r
	return "/v1/messages", header, body
}

// Tool implements [wire.Protocol].
func (protocol) Tool(t sessions.ToolSpec) any { return tool{t.Name, t.Description, t.Parameters} }

// MaxTemperature implements [wire.Protocol].
func (protocol) MaxTemperature() float32 { return MaxTemperature }

// Begin implements [wire.Protocol].
func (protocol) Begin(on func(sessions.Chunk), fail wire.Fail) wire.Completed {
	return &answer{on: on, fail: fail}
}
