package adapters

import (
	"context"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Retry is how an adapter retries what failed: after pauses that double, each up to
// a quarter longer, and never sooner than the platform asked for.
type Retry struct {
	First, Longest time.Duration // pauses
	Log            *slog.Logger
	// GiveUp reports that trying again is of no use; nil: where a person is needed ([Auth]).
	GiveUp func(f *Failure) bool
	// Show is told of each failure that is followed by another try; nil for nobody.
	Show func(f *Failure)
}

// Do calls until it succeeds, ctx ends, or trying again is of no use.
func (r Retry) Do(ctx context.Context, what string, call func(context.Context) error) error {
	pauses := r.Pauses()
	for try := 1; ; try++ {
		err := call(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		f := AsFailure(err)
		if r.givesUp(f) {
			return f
		}
		if r.Show != nil {
			r.Show(f)
		}
		wait := max(pauses.NextBackOff(), f.RetryAfter)
		r.Log.Warn("platform call failed, trying again", "call", what, "try", try, "wait", wait, "error", f.Err)
		if !Sleep(ctx, wait) {
			return context.Cause(ctx)
		}
	}
}

func (r Retry) givesUp(f *Failure) bool {
	if r.GiveUp == nil {
		return f.Kind == Auth
	}
	return r.GiveUp(f)
}

// Pauses are the waits between tries, for one caller.
func (r Retry) Pauses() *backoff.ExponentialBackOff {
	// The library varies a pause to both sides of an interval: a ninth of 9/8 gives 1 to 5/4.
	return &backoff.ExponentialBackOff{
		InitialInterval: r.First * 9 / 8, MaxInterval: r.Longest * 9 / 8, Multiplier: 2, RandomizationFactor: 1. / 9,
	}
}

// Sleep waits and reports whether it was not cut short.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
