package slack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"sluice/adapters"
	"sluice/internal/pause"
)

const (
	// steady is how long a connection must last so that its end does not count as a failure to connect.
	steady = 10 * time.Second
	// leaveTime is how long Slack has to close a connection after announcing it. Slack usually takes about ten seconds.
	leaveTime = 30 * time.Second
)

// link keeps one connection open. When Slack announces that it will close the connection, link opens the next one first.
func (r *receiver) link(ctx context.Context) error {
	var old *conn
	defer func() { r.retire(ctx, old) }()
	pauses := r.web.retryPolicy(nil).Pauses()
	for brief := 0; ; { // connections in a row that ended early; only the first is replaced at once
		if brief > 1 && pause.Wait(ctx, pauses.NextBackOff()) != nil {
			return nil
		}
		c, err := r.connect(ctx)
		if err != nil {
			return ignoreEnd(ctx, err)
		}
		r.retire(ctx, old)
		old = nil
		opened := time.Now()
		select {
		case <-c.leaving:
			r.leaving(c)
			old = c
		case <-c.done:
			r.cfg.Log.Info("slack connection ended, opening another", "error", c.err)
			c.close()
			if errors.Is(c.err, errDeaf) {
				r.web.client.closeIdle() // they may be dead as well
			}
		case <-ctx.Done():
			c.close()
		}
		if ctx.Err() != nil {
			return nil
		}
		if brief++; time.Since(opened) >= steady {
			brief = 0
			pauses.Reset()
		}
	}
}

// leaving shows why Slack closes a connection, if that needs a person.
func (r *receiver) leaving(c *conn) {
	level := slog.LevelDebug
	if c.reason.Load() == "link_disabled" {
		level = slog.LevelWarn // Socket Mode was turned off in the app's settings
	}
	r.cfg.Log.Log(context.Background(), level, "slack will close a connection, opening another", "reason", c.reason.Load())
}

// retire continues to read a connection that was replaced, until Slack closes it.
func (r *receiver) retire(ctx context.Context, c *conn) {
	if c == nil {
		return
	}
	r.handlers.Go(func() {
		timer := time.NewTimer(leaveTime)
		defer timer.Stop()
		select {
		case <-c.done:
		case <-timer.C:
		case <-ctx.Done():
		}
		c.close()
	})
}

func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the end of ctx is the cause of whatever failed
	}
	return err
}

// connect opens a connection and waits for Slack's hello. It tries again until that comes.
func (r *receiver) connect(ctx context.Context) (*conn, error) {
	var c *conn
	err := r.web.retry(ctx, "apps.connections.open", func(ctx context.Context) (err error) {
		c, err = r.open(ctx)
		return err
	}, r.failing)
	return c, err
}

// failing shows why a connection can't be opened, unless another one is open.
func (r *receiver) failing(f *adapters.Failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.up == 0 {
		r.state.Fail(f)
	}
}

func (r *receiver) open(ctx context.Context) (*conn, error) {
	callCtx, cancel := r.web.bounded(ctx)
	defer cancel()
	_, url, err := r.web.api.StartSocketModeContext(callCtx)
	if err != nil {
		return nil, r.web.failure("apps.connections.open", err)
	}
	c, err := dial(callCtx, url, r.cfg.PingTimeout, owner{
		up:    r.connected,
		heard: r.state.Heard,
		take:  func(c *conn, raw []byte, e envelope) { r.take(ctx, c, raw, e) },
	})
	if err != nil {
		return nil, &adapters.Failure{Kind: adapters.Transient, Certain: true, Err: err}
	}
	select {
	case <-c.hello:
		return c, nil
	case <-c.leaving:
		err = fmt.Errorf("slack closes the connection at once: %v", c.reason.Load())
	case <-c.done:
		err = c.err
	case <-callCtx.Done():
		err = fmt.Errorf("wait for slack's greeting: %w", context.Cause(callCtx))
	}
	c.close()
	return nil, &adapters.Failure{Kind: adapters.Transient, Certain: true, Err: err}
}

// connected counts the open connections, and shows the account as connected while at least one is open. The loss of one
// changes the time of the state even if the other one stays open.
func (r *receiver) connected(change int, lost bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.up += change
	if lost || r.up == 0 {
		r.state.Set(adapters.Retrying, "a connection to Slack was lost, opening another")
	}
	if r.up > 0 {
		r.state.Set(adapters.Connected, "")
	}
}
