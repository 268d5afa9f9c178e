// Package openai is a client of the Chat Completions API of OpenAI and many other servers.
package openai

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	"sluice/internal/model/wire"
	"sluice/sessions"
)

// DefaultBaseURL is the address of OpenAI's own API.
const DefaultBaseURL = "https://api.openai.com/v1"

// New creates a provider. An empty base URL means [DefaultBaseURL]. The window is unknown unless it is configured,
// because servers differ.
func New(cfg wire.ProviderConfig) *wire.Provider {
	cfg.BaseURL = strings.TrimSuffix(cmp.Or(cfg.BaseURL, DefaultBaseURL), "/")
	return wire.NewProvider(cfg, protocol{})
}

type protocol struct{}

// Prepare implements [wire.Protocol].
func (protocol) Prepare(apiKey, model string, req *sessions.Request) (path string, header http.Header, body wire.Body) {
	header = http.Header{}
	if apiKey != "" {
		header.Set("Authorization", "Bearer "+apiKey)
	}
	body.Object = newRequest(model, req)
	if req.System != "" {
		body.First = text("system", req.System)
	}
	return "/chat/completions", header, body
}

// Append implements [sessions.Form].
func (protocol) Append(list []byte, _ string, m sessions.Message) ([]byte, string, error) {
	for _, form := range messagesOf(m) {
		element, err := json.Marshal(form)
		if err != nil {
			return nil, "", err
		}
		list = append(append(list, ','), element...)
	}
	return list, "", nil
}

// Close implements [sessions.Form].
func (protocol) Close(string) string { return "" }

// Tool implements [wire.Protocol].
func (protocol) Tool(t sessions.ToolSpec) any {
	return tool{Type: "function", Function: function{t.Name, t.Description, t.Parameters}}
}

// MaxTemperature implements [wire.Protocol].
func (protocol) MaxTemperature() float32 { return sessions.TemperatureMax }

// Begin implements [wire.Protocol].
func (protocol) Begin(on func(sessions.Chunk), fail wire.Fail) wire.Completed {
	return &answer{on: on, fail: fail}
}
