package web

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
)

// Public is public, for tests.
func Public(a netip.Addr) bool { return public(a) }

// Guard is guard, for tests.
func Guard(network, address string) error { return guard(network, address, nil) }

// NewLocal creates a Fetcher that reaches one address of this machine and no other. Only tests have it.
func NewLocal(address string) *Fetcher {
	return guarded(func(network, to string, c syscall.RawConn) error {
		if to == address {
			return nil
		}
		return guard(network, to, c)
	})
}

// Redirect is what decides about a redirection, for tests.
func (r Rules) Redirect(next *http.Request, via []*http.Request) error { return r.redirect(next, via) }

// TextOf is textOf, for tests.
func TextOf(document string) (title, text string) {
	title, text, _ = textOf(strings.NewReader(document), &url.URL{Scheme: "https", Host: "example.org"})
	return title, text
}
