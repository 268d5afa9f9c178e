package adapters

import (
	"context"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"

	"sluice/internal/pause"
)

// Retry describes how an adapter retries a failed call: with pauses that double, each up to a quarter longer, and
// never earlier than the platform asked.
type Retry struct {
	First, Longest time.Duration // pauses
	Log            *slog.Logger
	// GiveUp reports that another attempt is useless; nil: if a person is needed ([Auth]).
	GiveUp func(f *Failure) bool
	// Show gets each failure before another attempt; may be nil.
	Show func(f *Failure)
}

// Do calls until it succeeds, ctx ends, or another attempt is useless.
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
		if err := pause.Wait(ctx, wait); err != nil {
			return err
		}
	}
}

func (r Retry) givesUp(f *Failure) bool {
	if r.GiveUp == nil {
		return f.Kind == Auth
	}
	return r.GiveUp(f)
}

// Pauses returns the waits between attempts, for one caller.
func (r Retry) Pauses() *backoff.ExponentialBackOff {
	return pause.Doubling(r.First, r.Longest, 0.25)
}
