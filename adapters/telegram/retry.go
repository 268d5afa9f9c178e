package telegram

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

// retry calls until it succeeds, ctx ends, or the token turns out to be wrong. Each failure shows in the account's state.
func (a *Adapter) retry(ctx context.Context, what string, call func(context.Context) error) error {
	r := adapters.Retry{First: firstPause, Longest: longestPause, Log: a.cfg.Log, Show: a.state.fail}
	return r.Do(ctx, what, call)
}
