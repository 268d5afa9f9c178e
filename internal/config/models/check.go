package models

import (
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"sluice/internal/config/hint"
	"sluice/internal/model/chain"
	"sluice/internal/model/wire"
	"sluice/internal/pattern"
	"sluice/policy/flow"
)

// The names that the program itself uses.
const (
	Offline = "offline" // the provider that always exists
	Default = "offline/guide"
)

var providerShape = pattern.New(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// offlineModel matches the offline provider's models: the guide, and two models for tests.
var offlineModel = pattern.New(`^(guide|echo|slow-[0-9]+(\.[0-9]+)?(ms|s|m|h))$`)

// Fault reports a fault at a key.
type Fault func(path, format string, args ...any)

// must reports a fault unless ok is true.
func (f Fault) must(ok bool, path, format string, args ...any) {
	if !ok {
		f(path, format, args...)
	}
}

// Check reports the faults of the section models.
func (m *Models) Check(fault Fault) {
	for name, p := range m.Providers {
		p.check(name, fault)
	}
	m.Reference("models.default", m.Default, fault)
	m.checkPrices(fault)
}

func (p *Provider) check(name string, fault Fault) {
	path := hint.Join("models.providers", name)
	fault.must(providerShape.MatchString(name), path, "want a name of A-Z a-z 0-9 _ -")
	fault.must(name != Offline, path, "is built in: choose another name")
	fault.must(p.Kind != "", path+".kind", "is missing: want anthropic or openai")
	fault.must(p.BaseURL == "" || isURL(p.BaseURL, "http", "https"), path+".baseURL", "%q: want an http or https address", p.BaseURL)
	fault.must(p.APIKey != "" || p.APIKeys != nil || p.BaseURL != "", path+".apiKey", "is missing: set it, or set baseURL for a server that needs no key")
	fault.must(p.APIKey == "" || len(p.APIKeys) == 0, path+".apiKeys", "is set, and apiKey is too: put all keys into apiKeys")
	for i, key := range p.APIKeys {
		at := fmt.Sprintf("%s.apiKeys[%d]", path, i)
		fault.must(strings.TrimSpace(key.Reveal()) != "", at, "is empty: remove it")
		fault.must(slices.Index(p.APIKeys, key) == i, at, "is repeated: give each key once")
	}
	for i, model := range p.Models {
		at := fmt.Sprintf("%s.models[%d]", path, i)
		fault.must(strings.TrimSpace(model) != "" && !strings.HasPrefix(model, name+"/"), at, "%q: want a model's name without the provider before it, or \"*\" for any", model)
		fault.must(!strings.Contains(model, ","), at, "%q: a model's name can't contain a comma", model)
	}
	for key := range p.Headers {
		fault.must(validHeader(key), path+".headers", "%q: want the name of a header that the client does not set itself", key)
	}
	proxy := p.Proxy.Reveal()
	fault.must(proxy == "" || proxy == wire.NoProxy || isURL(proxy, "http", "https", "socks5", "socks5h"), path+".proxy", "want an address such as http://proxy:3128, or none")
	for model, c := range p.Capabilities {
		c.check(hint.Join(path+".capabilities", model), fault)
	}
}

// validHeader reports whether a header may be added: the client sets some itself.
func validHeader(name string) bool {
	own := []string{"Authorization", "X-Api-Key", "Content-Type", "Content-Length", "Host", "Accept"}
	return name != "" && http.CanonicalHeaderKey(name) == textproto.CanonicalMIMEHeaderKey(name) && !strings.ContainsAny(name, " :\t\r\n") &&
		!slices.Contains(own, http.CanonicalHeaderKey(name))
}

func (c *Capabilities) check(path string, fault Fault) {
	known := chain.AbilityNames()
	for key, names := range map[string][]string{"has": c.Has, "lacks": c.Lacks} {
		for i, name := range names {
			at := fmt.Sprintf("%s.%s[%d]", path, key, i)
			fault.must(slices.Contains(known, name), at, "%q: %s", name, hint.For(name, known))
			fault.must(key != "lacks" || !slices.Contains(c.Has, name), at, "%s is also in has: remove one", name)
		}
	}
}

// Reference checks a reference to a model or a chain of them.
func (m *Models) Reference(path, ref string, fault Fault) {
	names := chain.Names(ref)
	fault.must(len(names) > 0, path, "%q: want <provider>/<model>, for example %s", ref, Default)
	fault.must(len(names) <= chain.Max, path, "has %d models: want at most %d", len(names), chain.Max)
	for i, name := range names {
		m.one(path, name, fault)
		fault.must(slices.Index(names, name) == i, path, "%s is repeated: name each model once", name)
	}
}

// one checks a "<provider>/<model>".
func (m *Models) one(path, ref string, fault Fault) {
	provider, model, ok := strings.Cut(ref, "/")
	if !ok || model == "" {
		fault(path, "%q: want <provider>/<model>, for example %s", ref, Default)
		return
	}
	if provider == Offline {
		fault.must(offlineModel.MatchString(model), path, "%q: offline has the models guide, echo and slow-<duration>, for example slow-2s", ref)
		return
	}
	known := []string{Offline}
	for name := range m.Providers {
		known = append(known, name)
	}
	slices.Sort(known)
	fault.must(slices.Contains(known, provider), path, "no provider %q under models.providers: %s", provider, hint.For(provider, known))
}

// isURL reports whether a text is a URL with one of the schemes and a host.
func isURL(text string, schemes ...string) bool {
	u, err := url.Parse(text)
	return err == nil && slices.Contains(schemes, u.Scheme) && u.Host != ""
}

// Highest is the highest level that may be sent to a model of a chain, and a provider whose level raises it. It is not valid
// where a model may get everything.
func (m *Models) Highest(ref string) (highest flow.Level, provider string) {
	for i, name := range chain.Names(ref) {
		of, _, _ := strings.Cut(name, "/")
		level := m.Providers[of].Classification
		if !level.Valid() {
			return level, of // the offline model
		}
		if i == 0 || flow.CanFlow(highest, level) {
			highest, provider = level, of
		}
	}
	return highest, provider
}
