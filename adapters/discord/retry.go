package discord

import (
	"context"
	"math/rand/v2"
	"time"

	"sluice/adapters"
)

// pause is how long to wait after so many tries: doubled each time, with a
// quarter of jitter, and never less than the platform asked for.
func (p pace) pause(tries int, asked time.Duration) time.Duration {
	d := p.longest
	if tries < 6 {
		d = min(d, p.firstPause<<tries)
	}
	return jitter(max(d, asked))
}

func jitter(d time.Duration) time.Duration { return d + time.Duration(rand.Int64N(int64(d)/4+1)) }

// retry calls until it succeeds, ctx ends, or trying again would be of no use.
func (a *Adapter) retry(ctx context.Context, what string, call func(context.Context) error) error {
	for tries := 0; ; tries++ {
		err := call(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		f := adapters.AsFailure(err)
		if f.Kind != adapters.Transient && f.Kind != adapters.RateLimited {
			return f
		}
		wait := a.cfg.pace.pause(tries, f.RetryAfter)
		a.cfg.Log.Warn("discord step failed, trying again", "step", what, "try", tries+1, "wait", wait, "error", f.Err)
		if !sleep(ctx, wait) {
			return context.Cause(ctx)
		}
	}
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
