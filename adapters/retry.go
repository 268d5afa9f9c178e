package adapters

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"
)

// Retry is how an adapter tries again what failed: after pauses that double, with
// a quarter of jitter, and never sooner than the platform asked for.
type Retry struct {
	First, Longest time.Duration // pauses
	Log            *slog.Logger
	// GiveUp reports that trying again is of no use; nil: where a person is needed ([Auth]).
	GiveUp func(f *Failure) bool
	// Show is told of each failure that is followed by another try; nil for nobody.
	Show func(f *Failure)
}

// doublings is after how many tries a pause is the longest one at any rate.
const doublings = 16

// Do calls until it succeeds, ctx ends, or trying again is of no use.
func (r Retry) Do(ctx context.Context, what string, call func(context.Context) error) error {
	for tries := 0; ; tries++ {
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
		wait := r.Pause(tries, f.RetryAfter)
		r.Log.Warn("platform call failed, trying again", "call", what, "try", tries+1, "wait", wait, "error", f.Err)
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

// Pause is how long to wait after so many tries.
func (r Retry) Pause(tries int, asked time.Duration) time.Duration {
	d := min(r.Longest, r.First<<min(tries, doublings))
	d = max(d, asked)
	return d + time.Duration(rand.Int64N(int64(d)/4+1))
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
