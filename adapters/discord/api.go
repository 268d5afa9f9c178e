package discord

import (
	"context"
	"errors"
	"net/http"

	"sluice/adapters"
)

// api calls Discord's REST API and returns failures of the port. It is safe for concurrent use.
type api struct {
	cfg    Config
	client *client
	state  *state
}

// call makes a REST call and returns its error as a Failure.
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

// optional makes a call that Discord may refuse. It then leaves result unchanged.
func (c *api) optional(ctx context.Context, p path, result any) error {
	err := c.call(ctx, request{method: http.MethodGet, path: p}, result)
	if f, ok := errors.AsType[*adapters.Failure](err); ok && f.Kind == adapters.Permanent {
		return nil
	}
	return err
}

// retry repeats a call until it succeeds, ctx ends, or its failure is permanent.
func (c *api) retry(ctx context.Context, what string, call func(context.Context) error) error {
	return c.cfg.retryPolicy().Do(ctx, what, call)
}

// retryPolicy decides how transient failures are retried.
func (c Config) retryPolicy() adapters.Retry {
	return adapters.Retry{
		First: c.pace.firstPause, Longest: c.pace.longest, Log: c.Log,
		GiveUp: func(f *adapters.Failure) bool { return f.Kind != adapters.Transient && f.Kind != adapters.RateLimited },
	}
}
