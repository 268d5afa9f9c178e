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
	Models         []string   // that a session may be given, without the provider; [AnyModel] is any
}

// Registry makes models. It is immutable and safe for concurrent use.
type Registry struct {
	providers map[string]*wire.Provider
	lists     map[string][]string // by provider: what a session may be given
}

// New makes a registry of the configured providers and the offline one. The models that are in use can be chosen besides
// those that a provider lists. It makes no request.
func New(providers map[string]ProviderConfig, inUse ...string) (*Registry, error) {
	r := &Registry{providers: map[string]*wire.Provider{}, lists: map[string][]string{}}
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

// add makes one provider's client. An error begins with the place below the provider.
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
		r.providers[name] = openai.New(cfg)
	default:
		return fmt.Errorf(".kind: %q is neither %s nor %s", c.Kind, KindAnthropic, KindOpenAI)
	}
	return nil
}

// checkURL wants http or https and a host; empty is the provider's own.
func checkURL(s string) error {
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	if err != nil {
		return errors.New("it is not a URL") // the parser's error repeats the text, and that may hold a password
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("want http://… or https://… with a host")
	}
	return nil
}

// Model finds a model by its name, also one that no session may be given any more, as an old one may have it. Whether the provider knows the model shows at its first use.
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

// Providers are the names of the providers, the offline one first.
func (r *Registry) Providers() []string {
	return append([]string{Offline}, slices.Sorted(maps.Keys(r.providers))...)
}
