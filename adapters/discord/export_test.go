package discord

import "time"

// Hurry makes the pauses of a configuration short, as tests want them.
func Hurry(c *Config) {
	c.pace = pace{
		identify: 20 * time.Millisecond, invalid: 5 * time.Millisecond, handshake: 5 * time.Second,
		firstPause: 10 * time.Millisecond, longest: 100 * time.Millisecond, saveSession: 10 * time.Millisecond,
	}
}
