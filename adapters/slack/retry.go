package slack

import (
	"context"
	"time"

	"sluice/adapters"
)

// The pauses between tries.
const (
	firstPause   = 500 * time.Millisecond
	longestPause = 30 * time.Second
)

// again is how failures that are shown to show are tried again.
func (a *Adapter) again(show func(*adapters.Failure)) adapters.Retry {
	return adapters.Retry{First: firstPause, Longest: longestPause, Log: a.cfg.Log, Show: show}
}

// retry calls until it succeeds, ctx ends, or the token turns out to be wrong. Each failure is shown.
func (a *Adapter) retry(ctx context.Context, what string, call func(context.Context) error, show func(*adapters.Failure)) error {
	return a.again(show).Do(ctx, what, call)
}
