package discord

import (
	"time"

	"sluice/adapters"
)

// again is how failures are tried again that may pass.
func (c Config) again() adapters.Retry {
	return adapters.Retry{
		First: c.pace.firstPause, Longest: c.pace.longest, Log: c.Log,
		GiveUp: func(f *adapters.Failure) bool { return f.Kind != adapters.Transient && f.Kind != adapters.RateLimited },
	}
}

// pause is how long to wait after so many tries.
func (p pace) pause(tries int, asked time.Duration) time.Duration {
	return adapters.Retry{First: p.firstPause, Longest: p.longest}.Pause(tries, asked)
}
