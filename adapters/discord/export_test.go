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
