package slack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"sluice/adapters"
)

const (
	// steady is how long a connection must have held for its end not to count as a failure to connect.
	steady = 10 * time.Second
	// leaveTime is how long Slack has to close a connection that it said it would close: it says so about ten seconds before.
	leaveTime = 30 * time.Second
)

// link keeps one connection open. When Slack says that it will close it, the next is opened first.
func (r *receiver) link(ctx context.Context) error {
	var old *conn
	defer func() { r.retire(ctx, old) }()
	pauses := r.web.again(nil).Pauses()
	for brief := 0; ; { // connections in a row that did not hold; only the first is replaced at once
		if brief > 1 && !adapters.Sleep(ctx, pauses.NextBackOff()) {
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
				r.web.client.closeIdle() // they may be as dead
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

// leaving says why Slack closes a connection; only one of its reasons is a person's business.
func (r *receiver) leaving(c *conn) {
	level := slog.LevelDebug
	if c.reason.Load() == "link_disabled" {
		level = slog.LevelWarn // Socket Mode was turned off in the app's settings
	}
	r.cfg.Log.Log(context.Background(), level, "slack will close a connection, opening another", "reason", c.reason.Load())
}

// retire reads what may still come over a connection that has a successor, until Slack closes it, and closes it then.
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

// connect opens a connection and waits for Slack's greeting, trying until it comes.
func (r *receiver) connect(ctx context.Context) (*conn, error) {
	var c *conn
	err := r.web.retry(ctx, "apps.connections.open", func(ctx context.Context) (err error) {
		c, err = r.open(ctx)
		return err
	}, r.failing)
	return c, err
}

// failing shows why a connection can't be opened, unless another is up.
func (r *receiver) failing(f *adapters.Failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.up == 0 {
		r.state.fail(f)
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
		heard: r.state.heard,
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

// connected counts the connections that are up, and shows the account as connected while there is one.
// That one was lost shows in the state's time even if the other holds.
func (r *receiver) connected(change int, lost bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.up += change
	if lost || r.up == 0 {
		r.state.set(adapters.Retrying, "a connection to Slack was lost, opening another")
	}
	if r.up > 0 {
		r.state.set(adapters.Connected, "")
	}
}
