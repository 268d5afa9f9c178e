package lanes

import (
	"time"

	"github.com/cenkalti/backoff/v5"
)

// SettleTimeout bounds the writes that a worker makes after its context has ended.
const SettleTimeout = 3 * time.Second

// Backoff is the pause after n failures in a row.
func Backoff(n int) time.Duration { return Doubled(100*time.Millisecond, 30*time.Second, n+1) }

// Doubled is the n-th pause of a series that starts with first and doubles up to most. It has no jitter: each lane
// has one worker, and the time of its next try is stored.
func Doubled(first, most time.Duration, n int) time.Duration {
	pauses := backoff.ExponentialBackOff{InitialInterval: first, Multiplier: 2, MaxInterval: most}
	pause := first
	for range n {
		if pause = pauses.NextBackOff(); pause >= most {
			return most
		}
	}
	return pause
}
