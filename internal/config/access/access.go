// Package access is the configuration of proxies that name the people who call the API.
package access

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"sluice/internal/glob"
	"sluice/policy/flow"
)

// Proxy says which proxies are trusted to name the person who makes a request, for example after an OpenID Connect login.
type Proxy struct {
	From    []string `yaml:"from" doc:"Addresses of the proxies that are trusted: IP addresses, or networks such as 10.0.0.0/24. Empty: none. The proxy must remove the header from what browsers send."`
	Header  string   `yaml:"header" doc:"Header in which the proxy names the person, for example X-Forwarded-Email."`
	SignOut string   `yaml:"signOut,omitempty" doc:"Where the proxy signs people out: a path such as /oauth2/sign_out, or a URL. The page's button to sign out leads there. Without it, people whom the proxy signs in have no such button."`
	People  []Person `yaml:"people" doc:"Who may enter, and as what. The first entry that matches applies; others may not enter."`
}

// Person is a person whom a proxy names, or several.
type Person struct {
	User           string     `yaml:"user" doc:"Required. The person's name as the proxy sends it; * matches any characters, for example *@example.org."`
	Role           string     `yaml:"role,omitempty" enum:"owner,operator,viewer" doc:"What they may do: docs/http.md. Default: viewer."`
	Classification flow.Level `yaml:"classification,omitempty" doc:"Highest level that they can see. Default: PUBLIC."`
}

// Prefixes are the addresses of the trusted proxies. Faults of the configuration are left out.
func (p Proxy) Prefixes() (all []netip.Prefix) {
	for _, text := range p.From {
		if prefix, err := prefixOf(text); err == nil {
			all = append(all, prefix)
		}
	}
	return all
}

func prefixOf(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()), nil
	}
	return netip.ParsePrefix(text)
}

// isAddress reports whether a browser can follow a text: a path of the same host, or a URL.
func isAddress(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	if u.Scheme == "" {
		return u.Host == "" && strings.HasPrefix(text, "/")
	}
	return u.Host != "" && (u.Scheme == "https" || u.Scheme == "http")
}

// Check reports what is wrong with the settings below a path.
func (p Proxy) Check(path string, fault func(path, text string)) {
	for i, text := range p.From {
		if _, err := prefixOf(text); err != nil {
			fault(fmt.Sprintf("%s.from[%d]", path, i), fmt.Sprintf("%q: want an IP address, or a network such as 10.0.0.0/24", text))
		}
	}
	for i, person := range p.People {
		if person.User == "" || !glob.ValidName(person.User) {
			fault(fmt.Sprintf("%s.people[%d].user", path, i), fmt.Sprintf("%q: want a name as the proxy sends it, or a pattern with *", person.User))
		}
	}
	if p.SignOut != "" && !isAddress(p.SignOut) {
		fault(path+".signOut", fmt.Sprintf("%q: want a path such as /oauth2/sign_out, or an https:// URL", p.SignOut))
	}
	switch {
	case len(p.From) == 0:
		return
	case p.Header == "" || strings.ContainsAny(p.Header, " :\t"):
		fault(path+".header", fmt.Sprintf("%q: want the name of the header in which the proxy names the person, for example X-Forwarded-Email", p.Header))
	case http.CanonicalHeaderKey(p.Header) == "Authorization", http.CanonicalHeaderKey(p.Header) == "Cookie":
		fault(path+".header", p.Header+" is for the gateway itself: let the proxy use another header")
	case len(p.People) == 0:
		fault(path+".people", "is empty: list who may enter")
	}
}
