package discord

import (
	"context"
	"errors"
	"net/http"

	"sluice/adapters"
)

// api calls Discord's REST interface, with failures in the port's terms. Safe for concurrent use.
type api struct {
	cfg    Config
	client *client
	state  *state
}

// call makes a REST call and gives its error as a Failure.
func (c *api) call(ctx context.Context, req request, result any) error {
	err := c.client.call(ctx, req, result)
	if err == nil {
		return nil
	}
	f := asFailure(req, err)
	if f.Kind == adapters.Auth {
		c.state.refused(f)
	}
	return f
}

// optional reads what Discord may refuse to show; result is then left as it is.
func (c *api) optional(ctx context.Context, p path, result any) error {
	err := c.call(ctx, request{method: http.MethodGet, path: p}, result)
	if f, ok := errors.AsType[*adapters.Failure](err); ok && f.Kind == adapters.Permanent {
		return nil
	}
	return err
}

// retry calls until it succeeds, ctx ends, or trying again would be of no use.
func (c *api) retry(ctx context.Context, what string, call func(context.Context) error) error {
	return c.cfg.again().Do(ctx, what, call)
}

// again is how failures are retried that may pass.
func (c Config) again() adapters.Retry {
	return adapters.Retry{
		First: c.pace.firstPause, Longest: c.pace.longest, Log: c.Log,
		GiveUp: func(f *adapters.Failure) bool { return f.Kind != adapters.Transient && f.Kind != adapters.RateLimited },
	}
}
