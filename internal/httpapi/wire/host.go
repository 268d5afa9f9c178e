package wire

import (
	"net"
	"strings"
)

// OwnHost reports whether a Host header names this gateway: by a configured name, or by any address. An attacker can make
// a name point here, but not an address.
func OwnHost(host string, configured []string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if name == "localhost" || net.ParseIP(name) != nil {
		return true
	}
	for _, h := range configured {
		if strings.EqualFold(h, name) {
			return true
		}
	}
	return false
}
