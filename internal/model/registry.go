package model

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"sluice/internal/model/anthropic"
	"sluice/internal/model/offline"
	"sluice/internal/model/openai"
	"sluice/internal/model/wire"
	"sluice/policy/flow"
	"sluice/sessions"
)

// Offline is the provider that always exists and needs no configuration.
const Offline = "offline"

// The kinds of providers.
const (
	KindAnthropic = "anthropic"
	KindOpenAI    = "openai" // any Chat Completions server
)

// ProviderConfig configures one provider.
type ProviderConfig struct {
	Kind           string
	APIKey         string
	BaseURL        string     // empty: the provider's default
	Classification flow.Level // the highest level of data that may be sent to it
	ContextWindow  int        // tokens; 0: the known value of the model
	Models         []string   // models that a session may use, without the provider; [AnyModel] allows all
}

// Registry creates models. It is immutable and safe for concurrent use.
type Registry struct {
	providers map[string]*wire.Provider
	audio     map[string]*openai.Audio
	lists     map[string][]string // by provider: the models that a session may use
}

// New creates a registry of the configured providers and the offline one. Models in use can be chosen in addition to
// those that a provider lists. It sends no request.
func New(providers map[string]ProviderConfig, inUse ...string) (*Registry, error) {
	r := &Registry{providers: map[string]*wire.Provider{}, audio: map[string]*openai.Audio{}, lists: map[string][]string{}}
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		if err := r.add(name, providers[name]); err != nil {
			faults = append(faults, fmt.Errorf("models.providers.%s%w", name, err))
		}
	}
	for _, name := range inUse {
		if provider, model, ok := strings.Cut(name, "/"); ok && !r.listed(provider, model) {
			r.lists[provider] = append(r.lists[provider], model)
		}
	}
	return r, errors.Join(faults...)
}

// add creates a provider's client. Its errors begin with the key below the provider.
func (r *Registry) add(name string, c ProviderConfig) error {
	if name == Offline {
		return errors.New(": the name is taken by the built-in provider")
	}
	if err := checkURL(c.BaseURL); err != nil {
		return fmt.Errorf(".baseURL: %w", err)
	}
	cfg := wire.ProviderConfig{Name: name, APIKey: c.APIKey, BaseURL: c.BaseURL, Level: c.Classification, Window: c.ContextWindow}
	r.lists[name] = slices.Clone(c.Models)
	switch c.Kind {
	case KindAnthropic:
		r.providers[name] = anthropic.New(cfg)
	case KindOpenAI:
		r.providers[name], r.audio[name] = openai.New(cfg), openai.NewAudio(cfg)
	default:
		return fmt.Errorf(".kind: %q is neither %s nor %s", c.Kind, KindAnthropic, KindOpenAI)
	}
	return nil
}

// checkURL requires http or https and a host; empty stands for the provider's default.
func checkURL(s string) error {
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	if err != nil {
		return errors.New("it is not a URL") // the parser's error repeats the text, which may contain a password
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("want http://… or https://… with a host")
	}
	return nil
}

// Audio returns the client of a provider for recordings, with the highest level of data that may be sent to it; nil if the provider
// takes none.
func (r *Registry) Audio(provider string) (*openai.Audio, flow.Level) {
	if a, ok := r.audio[provider]; ok {
		return a, r.providers[provider].Level()
	}
	return nil, flow.Level{}
}

// Model finds a model by name, even one that sessions may no longer choose, because an old session may still have it.
// Whether the provider has the model shows at its first use.
func (r *Registry) Model(name string) (sessions.Model, error) {
	provider, model, ok := strings.Cut(name, "/")
	if !ok || model == "" {
		return nil, fmt.Errorf("model %q: want <provider>/<model>, for example %s/%s", name, Offline, offline.Guide)
	}
	if provider == Offline {
		return offline.New(model)
	}
	if p, ok := r.providers[provider]; ok {
		return p.Model(model), nil
	}
	return nil, fmt.Errorf("model %q: no provider %q; add models.providers.%s, or use one of %s", name, provider, provider, strings.Join(r.Providers(), ", "))
}

// Providers returns the names of the providers, the offline one first.
func (r *Registry) Providers() []string {
	return append([]string{Offline}, slices.Sorted(maps.Keys(r.providers))...)
}
