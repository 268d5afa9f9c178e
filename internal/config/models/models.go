// Package models has the part of the configuration that says which language models there are, and how they are reached.
package models

import (
	"sluice/adapters"
	"sluice/internal/config/scalar"
	"sluice/policy/flow"
)

// Models are the language models.
type Models struct {
	Default   string              `yaml:"default" chain:"true" doc:"<provider>/<model>, or a list of them: the next one answers when those before it fail (docs/models.md). offline/guide needs no provider, key or network; it is a demonstration, not an AI."`
	Providers map[string]Provider `yaml:"providers" doc:"Providers by name. The name is the part before the / of a model."`
	Prices    map[string]Price    `yaml:"prices" doc:"Prices by model, <provider>/<model>. They take precedence over the list prices of common models, which sluice models prices shows (docs/models.md#prices)."`
}

// Provider is one model provider.
type Provider struct {
	Kind           string                     `yaml:"kind" enum:"anthropic,openai" doc:"The provider's API; openai is any server with the Chat Completions API. Required."`
	APIKey         adapters.Secret            `yaml:"apiKey" doc:"Required if baseURL and apiKeys are empty."`
	APIKeys        []adapters.Secret          `yaml:"apiKeys" doc:"Several keys, in place of apiKey: the next one is used when those before it fail or are at their limits. They are shown as key1, key2 and so on."`
	BaseURL        string                     `yaml:"baseURL" doc:"Address of the API. Empty: the provider's own."`
	Classification flow.Level                 `yaml:"classification" doc:"Highest level that may be sent to the provider. A session above it never reaches the provider, also when every other one fails."`
	Region         string                     `yaml:"region,omitempty" doc:"A note for people: where the provider works and what was agreed, such as EU, no training. sluice models list shows it."`
	ContextWindow  int                        `yaml:"contextWindow" min:"0" doc:"Maximum tokens of a prompt and its reply together. 0: as known for the model."`
	Models         []string                   `yaml:"models" doc:"Models that people and agents may choose with /model, session_status, sessions_spawn and the API: names without the provider; \"*\" means any. The models that models.default and the agents name can always be chosen. Default: only these."`
	Capabilities   map[string]Capabilities    `yaml:"capabilities,omitempty" doc:"What models can do, by their names without the provider. Default: as known for well-known models; otherwise they are tried."`
	Timeouts       Timeouts                   `yaml:"timeouts" doc:"How long the provider may be silent."`
	Limits         Limits                     `yaml:"limits" doc:"Limits for each key and gateway process. A key at its limit is passed over; if all are, requests wait."`
	Headers        map[string]adapters.Secret `yaml:"headers,omitempty" doc:"Additional headers of each request."`
	Proxy          adapters.Secret            `yaml:"proxy,omitempty" doc:"Address of an HTTP or SOCKS5 proxy, for example http://proxy:3128. Default: as HTTPS_PROXY says. none: no proxy."`
}

// SetDefaults sets the level: a provider is the owner's own choice, so by default it may see everything.
func (p *Provider) SetDefaults() { p.Classification = flow.Restricted }

// Capabilities say what a model can do.
type Capabilities struct {
	ContextWindow int      `yaml:"contextWindow" min:"0" doc:"Maximum tokens of a prompt and its reply together. 0: as for the provider."`
	Has           []string `yaml:"has" doc:"What the model can do: pictures, audio, tools, thinking, structured."`
	Lacks         []string `yaml:"lacks" doc:"What the model can't do. A request that needs it goes to the next model of the chain."`
}

// Timeouts of requests.
type Timeouts struct {
	Connect    scalar.Duration `yaml:"connect" doc:"Until the connection is made."`
	FirstToken scalar.Duration `yaml:"firstToken" doc:"Until the reply begins; a server that says it is working has begun. It includes the time to load a local model. Default: 2m, and 10m if baseURL is in a private network."`
	Idle       scalar.Duration `yaml:"idle" doc:"Between two parts of a reply. Default: 1m, and 5m if baseURL is in a private network."`
	Total      scalar.Duration `yaml:"total" doc:"For the whole reply. Default: the limit of the run."`
}

// Limits of each key.
type Limits struct {
	Requests   scalar.Rate `yaml:"requests" doc:"For example 60/1m. Default: no limit."`
	Tokens     scalar.Rate `yaml:"tokens" doc:"Tokens of prompts and replies, for example 90000/1m. Default: no limit."`
	Concurrent int         `yaml:"concurrent" min:"0" doc:"Requests at the same time. 0: no limit."`
}

// Keys are the keys of a provider; one that is empty if it needs none.
func (p *Provider) Keys() []adapters.Secret {
	if len(p.APIKeys) > 0 {
		return p.APIKeys
	}
	return []adapters.Secret{p.APIKey}
}
