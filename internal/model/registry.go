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
}

// Registry makes models. It is immutable and safe for concurrent use.
type Registry struct {
	providers map[string]*wire.Provider
}

// New makes a registry of the configured providers and the offline one. It makes no request.
func New(providers map[string]ProviderConfig) (*Registry, error) {
	r := &Registry{providers: map[string]*wire.Provider{}}
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		if err := r.add(name, providers[name]); err != nil {
			faults = append(faults, fmt.Errorf("models.providers.%s%w", name, err))
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
		return errors.New("it is no URL") // the parser's error repeats the text, and that may hold a password
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("want http://… or https://… with a host")
	}
	return nil
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
	if p, ok := r.providers[provider]; ok {
		return p.Model(model), nil
	}
	known := append([]string{Offline}, slices.Sorted(maps.Keys(r.providers))...)
	return nil, fmt.Errorf("model %q: no provider %q; add models.providers.%s, or use one of %s", name, provider, provider, strings.Join(known, ", "))
}
