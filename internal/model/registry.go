// Package model finds language models by name, "<provider>/<model>".
package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/internal/model/anthropic"
	"sluice/internal/model/offline"
	"sluice/internal/model/openai"
	"sluice/policy/flow"
	"sluice/sessions"
)

// Offline is the provider that is always there and needs nothing.
const Offline = "offline"

// The kinds of providers.
const (
	KindAnthropic = "anthropic"
	KindOpenAI    = "openai" // any Chat Completions server
)

// ProviderConfig is one configured provider.
type ProviderConfig struct {
	Kind           string
	APIKey         string
	BaseURL        string     // empty: the provider's own
	Classification flow.Level // the highest level that may be sent to it
	ContextWindow  int        // tokens; 0: as known of the model
}

// Registry makes models. It is immutable and safe for concurrent use.
type Registry struct {
	providers map[string]func(model string) sessions.Model
}

// New makes a registry of the configured providers and the offline one.
func New(providers map[string]ProviderConfig) (*Registry, error) {
	r := &Registry{providers: map[string]func(string) sessions.Model{}}
	for name, c := range providers {
		switch {
		case name == Offline:
			return nil, fmt.Errorf("models.providers.%s: the name is taken by the built-in provider", name)
		case c.Kind == KindAnthropic:
			client := anthropic.New(anthropic.Config{Provider: name, APIKey: c.APIKey, BaseURL: c.BaseURL, Level: c.Classification, Window: c.ContextWindow})
			r.providers[name] = func(model string) sessions.Model { return client.Model(model) }
		case c.Kind == KindOpenAI:
			client := openai.New(openai.Config{Provider: name, APIKey: c.APIKey, BaseURL: c.BaseURL, Level: c.Classification, Window: c.ContextWindow})
			r.providers[name] = func(model string) sessions.Model { return client.Model(model) }
		default:
			return nil, fmt.Errorf("models.providers.%s.kind: %q is neither %s nor %s", name, c.Kind, KindAnthropic, KindOpenAI)
		}
	}
	return r, nil
}

// Model finds a model by its name. Whether the provider knows the model shows at its first use.
func (r *Registry) Model(name string) (sessions.Model, error) {
	provider, model, ok := strings.Cut(name, "/")
	if !ok || model == "" {
		return nil, fmt.Errorf("model %q: want <provider>/<model>, for example %s/%s", name, Offline, offline.Guide)
	}
	if provider == Offline {
		return offline.New(model)
	}
	if make, ok := r.providers[provider]; ok {
		return make(model), nil
	}
	known := append([]string{Offline}, slices.Sorted(maps.Keys(r.providers))...)
	return nil, fmt.Errorf("model %q: no provider %q; add models.providers.%s, or use one of %s", name, provider, provider, strings.Join(known, ", "))
}
