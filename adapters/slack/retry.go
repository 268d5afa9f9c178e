package slack

import (
	"context"
	"math/rand/v2"
	"time"

	"sluice/adapters"
)

// The pauses between tries: doubled each time, with a quarter of jitter.
const (
	firstPause   = 500 * time.Millisecond
	longestPause = 30 * time.Second
)

// retry calls until it succeeds, ctx ends, or the token turns out to be wrong. Each failure is shown.
func (a *Adapter) retry(ctx context.Context, what string, call func(context.Context) error, show func(*adapters.Failure)) error {
	for tries := 0; ; tries++ {
		err := call(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		f := adapters.AsFailure(err)
		if f.Kind == adapters.Auth {
			return f
		}
		show(f)
		wait := pause(tries, f.RetryAfter)
		a.cfg.Log.Warn("slack call failed, trying again", "call", what, "try", tries+1, "wait", wait, "error", f.Err)
		if !sleep(ctx, wait) {
			return context.Cause(ctx)
		}
	}
}

// pause is how long to wait after so many tries, and never less than the platform asked for.
func pause(tries int, asked time.Duration) time.Duration {
	d := longestPause
	if tries < 6 {
		d = min(d, firstPause<<tries)
	}
	d = max(d, asked)
	return d + time.Duration(rand.Int64N(int64(d)/4+1))
}

// sleep waits and reports whether it was not cut short.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
