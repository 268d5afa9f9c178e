// Package pause says how long to wait before the next try of something, and waits.
package pause

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Wait returns when the pause is over. If ctx ends first, it returns the cause of that.
func Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return context.Cause(ctx)
}

// Whole waits like [Wait], and reports whether the pause was not cut short.
func Whole(ctx context.Context, d time.Duration) bool { return Wait(ctx, d) == nil }

// Doubling returns the pauses between the tries of one caller: from first, doubled each time up to longest. Each pause
// is randomly longer by up to the fraction spread of it, so that many callers do not try at once. One whose time is
// stored, or that has no rivals, needs no spread.
func Doubling(first, longest time.Duration, spread float64) *backoff.ExponentialBackOff {
	// The library varies a pause to both sides of its middle.
	middle := func(d time.Duration) time.Duration { return time.Duration(float64(d) * (1 + spread/2)) }
	return &backoff.ExponentialBackOff{
		InitialInterval: middle(first), MaxInterval: middle(longest), Multiplier: 2, RandomizationFactor: spread / (2 + spread),
	}
}

// Nth is the n-th pause of Doubling, counted from 1, without a spread.
func Nth(first, longest time.Duration, n int) time.Duration {
	pauses, pause := Doubling(first, longest, 0), first
	for range n {
		if pause = pauses.NextBackOff(); pause >= longest {
			return longest
		}
	}
	return pause
}
