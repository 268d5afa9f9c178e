package discord

import "time"

// Hurry makes the pauses of a configuration short, as tests want them.
func Hurry(c *Config) {
	c.pace = pace{
		identify: 20 * time.Millisecond, invalid: 5 * time.Millisecond, handshake: 5 * time.Second,
		firstPause: 10 * time.Millisecond, longest: 100 * time.Millisecond, saveSession: 10 * time.Millisecond,
	}
}

// WaitIdentify sets the pause between two identifies of a bucket.
func WaitIdentify(c *Config, d time.Duration) { c.pace.identify = d }

// WaitInvalid sets the least pause after an invalid session.
func WaitInvalid(c *Config, d time.Duration) { c.pace.invalid = d }

// WaitHello sets how long a connection may be without a session.
func WaitHello(c *Config, d time.Duration) { c.pace.handshake = d }

// NonceOf names a message for Discord.
var NonceOf = nonceOf

// HeaderTime reads a time of a header.
var HeaderTime = header

// Trusted reports whether a session may be resumed at an address where the usual one is known.
func Trusted(usual, address string) bool {
	s := &shard{gate: &gate{info: gatewayInfo{URL: usual}}}
	return s.trusted(address)
}
