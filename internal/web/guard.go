package web

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// errNotPublic means that an address is not on the public internet.
var errNotPublic = errors.New("is not an address of the public web")

// special4 and special6 are not public, see IANA's registries of special-purpose addresses.
var (
	special4 = prefixes("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
		"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
		"168.63.129.16/32") // Azure's own services
	global6  = netip.MustParsePrefix("2000::/3")
	special6 = prefixes("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20") // Teredo and other protocols, documentation, 6to4
)

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}

// public reports whether an address belongs to the public internet. An address that wraps another one (mapped, 6to4,
// NAT64, Teredo) never does, because its target is unknown.
func public(a netip.Addr) bool {
	special := special6
	switch {
	case !a.IsValid() || a.Zone() != "" || a.Is4In6():
		return false
	case a.Is4():
		special = special4
	case !global6.Contains(a):
		return false
	}
	for _, p := range special {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// guard decides when dialling, about the address that is really dialled.
func guard(network, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || (network != "tcp4" && network != "tcp6") || !public(to.Addr()) {
		return fmt.Errorf("%s %w", address, errNotPublic)
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return fmt.Errorf("look up own addresses: %w", err)
	}
	for _, a := range own { // even if the machine has a public one
		if n, ok := a.(*net.IPNet); ok && n.IP.Equal(net.IP(to.Addr().AsSlice())) {
			return fmt.Errorf("%s %w", address, errNotPublic)
		}
	}
	return nil
}
