package model

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"sluice/internal/model/anthropic"
	"sluice/internal/model/chain"
	"sluice/internal/model/cooldown"
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
	Keys           []string // API keys; none or an empty one: the provider needs no key
	BaseURL        string   // empty: the provider's default
	Classification flow.Level
	ContextWindow  int                           // tokens; 0: the known value of the model
	Models         []string                      // models that a session may use, without the provider; [AnyModel] allows all
	Region         string                        // a note for people
	Capabilities   map[string]chain.Capabilities // by the provider's names of the models
	Limits         chain.Limits                  // of each key
	Headers        map[string]string
	Proxy          string

	Connect, FirstToken, Idle, Total time.Duration // 0: the default
}

// Options are what all models of a registry share. All of it may be left out.
type Options struct {
	Board *cooldown.Board // nil: one of this registry alone, in memory
	Now   func() time.Time
	Log   *slog.Logger
	Moved func(from, to string) // see [chain.Config]
	Pause time.Duration         // see [chain.Config]
	// Wrap decorates each way to ask a model; it is called when a model is looked up. Nil: nothing.
	Wrap func(link chain.Link) sessions.Model
}

// Registry creates models. Only [Registry.ReplacedBy] changes it. It is safe for concurrent use.
type Registry struct {
	providers map[string]*provider
	audio     map[string]*openai.Audio
	lists     map[string][]string // by provider: the models that a session may use
	chains    chain.Config
	wrap      func(chain.Link) sessions.Model
}

// provider is a configured provider.
type provider struct {
	ProviderConfig
	name string
	keys []key
}

// key is a key of a provider, with the client that uses it.
type key struct {
	name    string
	mark    string
	client  *wire.Provider
	limiter *chain.Limiter
}

// New creates a registry of the configured providers and the offline one. Models in use can be chosen in addition to
// those that a provider lists. It sends no request.
func New(providers map[string]ProviderConfig, o Options, inUse ...string) (*Registry, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Board == nil {
		o.Board = cooldown.New(cooldown.Config{Now: o.Now, Log: o.Log})
	}
	r := &Registry{
		providers: map[string]*provider{}, audio: map[string]*openai.Audio{}, lists: map[string][]string{},
		chains: chain.Config{Board: o.Board, Now: o.Now, Log: o.Log, Moved: o.Moved, Pause: o.Pause}, wrap: o.Wrap,
	}
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		if err := r.add(name, providers[name]); err != nil {
			faults = append(faults, fmt.Errorf("models.providers.%s%w", name, err))
		}
	}
	for _, ref := range inUse {
		for _, name := range chain.Names(ref) {
			if provider, model, ok := strings.Cut(name, "/"); ok && !r.listed(provider, model) {
				r.lists[provider] = append(r.lists[provider], model)
			}
		}
	}
	return r, errors.Join(faults...)
}

// add creates a provider's clients. Its errors begin with the key below the provider.
func (r *Registry) add(name string, c ProviderConfig) error {
	if name == Offline {
		return errors.New(": the name is taken by the built-in provider")
	}
	if err := checkURL(c.BaseURL); err != nil {
		return fmt.Errorf(".baseURL: %w", err)
	}
	if len(c.Keys) == 0 {
		c.Keys = []string{""}
	}
	p := &provider{ProviderConfig: c, name: name}
	r.lists[name] = slices.Clone(c.Models)
	for i, secret := range c.Keys {
		cfg := p.wire(secret)
		k := key{name: fmt.Sprintf("key%d", i+1), mark: fingerprint(secret), limiter: chain.NewLimiter(c.Limits, r.chains.Now)}
		switch c.Kind {
		case KindAnthropic:
			k.client = anthropic.New(cfg)
		case KindOpenAI:
			k.client = openai.New(cfg)
			if i == 0 {
				r.audio[name] = openai.NewAudio(cfg)
			}
		default:
			return fmt.Errorf(".kind: %q is neither %s nor %s", c.Kind, KindAnthropic, KindOpenAI)
		}
		p.keys = append(p.keys, k)
	}
	r.providers[name] = p
	return nil
}

// wire is the configuration of the client for one key.
func (p *provider) wire(secret string) wire.ProviderConfig {
	cfg := wire.ProviderConfig{
		Name: p.name, APIKey: secret, BaseURL: p.BaseURL, Level: p.Classification, Window: p.ContextWindow,
		Headers: p.Headers, Proxy: p.Proxy, Connect: p.Connect, FirstByte: p.FirstToken, Idle: p.Idle, Total: p.Total,
	}
	if near(p.BaseURL) {
		cfg.FirstByte, cfg.Idle = cmp.Or(cfg.FirstByte, nearFirstToken), cmp.Or(cfg.Idle, nearIdle)
	}
	cfg.FirstByte, cfg.Idle = cmp.Or(cfg.FirstByte, wire.DefaultFirstByte), cmp.Or(cfg.Idle, wire.DefaultIdle)
	return cfg
}

// The default time-outs of servers on this machine and in its network: they load a model at its first request, and may
// be slow.
const (
	nearFirstToken = 10 * time.Minute
	nearIdle       = 5 * time.Minute
)

// near reports whether an address is on this machine or in a private network.
func near(base string) bool {
	u, err := url.Parse(base)
	if err != nil || base == "" {
		return false
	}
	host := u.Hostname()
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	return host == "localhost" || !strings.Contains(host, ".") || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal")
}

// fingerprint tells keys from each other without saying anything about them.
func fingerprint(secret string) string {
	sum := sha256.Sum256([]byte("sluice api key\x00" + secret))
	return hex.EncodeToString(sum[:4])
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

// Audio returns the client of a provider for recordings, the name of its key, and the highest level of data that may be sent to it;
// nil if the provider takes none.
func (r *Registry) Audio(provider string) (client *openai.Audio, key string, level flow.Level) {
	if a, ok := r.audio[provider]; ok {
		p := r.providers[provider]
		return a, p.keys[0].name, p.Classification
	}
	return nil, "", flow.Level{}
}

// Model finds a model or a chain of models by its name, even one that sessions may no longer choose, because an old session
// may still have it. Whether the provider has the model shows at its first use. [chain.Auto] is left out: it is the caller
// who knows the agent's chain.
func (r *Registry) Model(ref string) (sessions.Model, error) {
	c, err := r.chain(ref)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// ReplacedBy says that the models of next are in effect. The models of this registry that are in use make their further
// calls as next has them ([chain.Config.Replace]).
func (r *Registry) ReplacedBy(next *Registry) {
	r.chains.Replace(func(name string) *chain.Chain {
		c, err := next.chain(name)
		if err != nil {
			return nil
		}
		return c
	})
}

func (r *Registry) chain(ref string) (*chain.Chain, error) {
	names := chain.Names(chain.Expand(ref, ""))
	if len(names) == 0 {
		names = []string{ref}
	}
	if len(names) > chain.Max {
		return nil, fmt.Errorf("model %q: has %d models, and at most %d can follow one another", ref, len(names), chain.Max)
	}
	entries := make([]*chain.Entry, len(names))
	for i, name := range names {
		entry, err := r.entry(name)
		if err != nil {
			return nil, err
		}
		entries[i] = entry
	}
	return chain.New(&r.chains, entries), nil
}

// entry is one model of a chain.
func (r *Registry) entry(name string) (*chain.Entry, error) {
	provider, model, ok := strings.Cut(name, "/")
	if !ok || model == "" {
		return nil, fmt.Errorf("model %q: want <provider>/<model>, for example %s/%s", name, Offline, offline.Guide)
	}
	if provider == Offline {
		m, err := offline.New(model)
		if err != nil {
			return nil, err
		}
		return &chain.Entry{Name: name, Level: sessions.ModelLevel(m), Links: []*chain.Link{r.link(chain.Link{Provider: provider, Model: model, Ask: m})}}, nil
	}
	p, ok := r.providers[provider]
	if !ok {
		return nil, fmt.Errorf("model %q: no provider %q; add models.providers.%s, or use one of %s", name, provider, provider, strings.Join(r.Providers(), ", "))
	}
	e := &chain.Entry{Name: name, Level: p.Classification, Can: p.can(model), Loading: p.wire("").FirstByte, Links: make([]*chain.Link, len(p.keys))}
	for i := range p.keys {
		k := &p.keys[i]
		e.Links[i] = r.link(chain.Link{Provider: provider, Key: k.name, Mark: k.mark, Model: model, Ask: k.client.Model(model), Limiter: k.limiter})
	}
	return e, nil
}

// link is a link as it is asked.
func (r *Registry) link(l chain.Link) *chain.Link {
	if r.wrap != nil {
		l.Ask = r.wrap(l)
	}
	return &l
}

// can is what a model can do: as configured, else as known for the model.
func (p *provider) can(model string) chain.Capabilities {
	c := known(p.Kind, model)
	if p.ContextWindow > 0 {
		c.Window = p.ContextWindow
	}
	return c.With(p.Capabilities[model])
}

// Providers returns the names of the providers, the offline one first.
func (r *Registry) Providers() []string {
	return append([]string{Offline}, slices.Sorted(maps.Keys(r.providers))...)
}

// Described describes the configured providers, in the order of their names, with the models that the configuration names.
func (r *Registry) Described() []chain.Provider {
	all := make([]chain.Provider, 0, len(r.providers))
	for _, name := range slices.Sorted(maps.Keys(r.providers)) {
		p := r.providers[name]
		d := chain.Provider{Name: name, Kind: p.Kind, Level: p.Classification, Region: p.Region, Host: p.host(), Limits: p.Limits}
		for i := range p.keys {
			d.Keys = append(d.Keys, p.keys[i].name)
		}
		for _, model := range slices.Sorted(slices.Values(r.lists[name])) {
			if entry, err := r.entry(name + "/" + model); err == nil && model != AnyModel {
				d.Models = append(d.Models, entry)
			}
		}
		all = append(all, d)
	}
	return all
}

// host is the host of the provider's API.
func (p *provider) host() string {
	base := p.BaseURL
	if base == "" {
		base = map[string]string{KindAnthropic: anthropic.DefaultBaseURL, KindOpenAI: openai.DefaultBaseURL}[p.Kind]
	}
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return u.Host
}
