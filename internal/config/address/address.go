// Package address turns the address that a gateway listens on into the one at which this machine reaches it.
package address

import "net"

// Local is the web address at which this machine reaches a gateway that listens on an address. Empty: the port is chosen
// when it starts, or the address is not valid.
func Local(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil || port == "" || port == "0" {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}
