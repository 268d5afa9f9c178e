package slack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/adapters"
)

const (
	// links is how many WebSockets are kept open. Slack gives each event to one of
	// them, and all to the other while one is being replaced; it allows ten.
	links = 2
	// steady is how long a connection must have held for its end not to count as a failure to connect.
	steady = 10 * time.Second
	// leaveTime is how long Slack has to close a connection that it said it would close: it says so about ten seconds before.
	leaveTime = 30 * time.Second
	// keepTrying is how long an event that the acceptor refuses is offered to it again, the
	// conversation waiting behind it: longer than Slack would give it again. Then it is left to Slack, unconfirmed.
	keepTrying = 10 * time.Minute
)

// receiver is Socket Mode while Run runs. Its goroutines: one for each link, one for each connection that
// has a successor, those of the connections, one that looks after the token, and one for each event that
// waits or is being accepted (at most maxPending); receive waits for all.
type receiver struct {
	*Adapter
	in       adapters.Acceptor
	handlers sync.WaitGroup

	mu sync.Mutex
	up int // connections that were greeted and hold
}

// receive keeps the links up until ctx ends or one of them fails for good.
func (a *Adapter) receive(ctx context.Context, in adapters.Acceptor) error {
	r := &receiver{Adapter: a, in: in}
	defer r.handlers.Wait()
	group, ctx := errgroup.WithContext(ctx)
	for range links {
		group.Go(func() error { return r.link(ctx) })
	}
	group.Go(func() error { return a.keepIdentity(ctx, func() { r.connected(0, false) }) })
	return group.Wait()
}

// link keeps one connection open. When Slack says that it will close it, the next is opened first.
func (r *receiver) link(ctx context.Context) error {
	var old *conn
	defer func() { r.retire(ctx, old) }()
	for tries := 0; ; {
		c, err := r.connect(ctx, tries)
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
				r.client.closeIdle() // they may be as dead
			}
		case <-ctx.Done():
			c.close()
		}
		if ctx.Err() != nil {
			return nil
		}
		if tries++; time.Since(opened) >= steady {
			tries = 0
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

// connect opens a connection and waits for Slack's greeting, trying until it comes. After
// connections that did not hold, it waits first.
func (r *receiver) connect(ctx context.Context, tries int) (*conn, error) {
	if tries > 1 && !sleep(ctx, pause(tries-2, 0)) {
		return nil, context.Cause(ctx)
	}
	var c *conn
	err := r.retry(ctx, "apps.connections.open", func(ctx context.Context) (err error) {
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
	callCtx, cancel := r.bounded(ctx)
	defer cancel()
	_, url, err := r.api.StartSocketModeContext(callCtx)
	if err != nil {
		return nil, r.failure("apps.connections.open", err)
	}
	c, err := dial(callCtx, url, r.cfg.PingTimeout, owner{
		up:   r.connected,
		take: func(c *conn, raw []byte, e envelope) { r.take(ctx, c, raw, e) },
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

// take hands an envelope on without blocking: a reader that waits would miss Slack's pings.
func (r *receiver) take(ctx context.Context, c *conn, raw []byte, e envelope) {
	it, err := readEnvelope(e)
	switch {
	case err != nil:
		r.malformed(raw, err)
		r.confirm(c, e.ID)
		return
	case it.gone != "":
		r.confirm(c, e.ID)
		r.removed(it.gone)
		return
	case it.empty():
		r.metrics.event(r.cfg.Account, outcomeIgnored)
		r.confirm(c, e.ID)
		return
	}
	place, ok := r.lanes.take(it)
	if !ok {
		r.metrics.event(r.cfg.Account, outcomeDropped)
		r.cfg.Log.Warn("too many slack events wait, leaving one to be given again", "most", maxPending, "retry", e.Retry)
		return
	}
	r.handlers.Go(func() {
		err := place.pass(ctx, func() error { return r.accept(ctx, it) })
		switch {
		case err == nil:
			r.confirm(c, e.ID)
		case ctx.Err() == nil: // at the stop it is left to Slack as well, but not as a fault
			r.cfg.Log.Error("slack event not accepted, leaving it to be given again", "retry", e.Retry, "error", err)
		}
	})
}

func (r *receiver) confirm(c *conn, id string) {
	if id == "" {
		return
	}
	if err := c.ack(id); err != nil {
		r.cfg.Log.Debug("slack did not hear a confirmation and will give the event again", "error", err)
	}
}

// accept offers an item until it is taken, ctx ends, or it has been offered long enough.
func (r *receiver) accept(ctx context.Context, it item) error {
	began := time.Now()
	for tries := 0; ; tries++ {
		err := r.acceptOne(ctx, r.in, it)
		if err == nil || ctx.Err() != nil || time.Since(began) > keepTrying {
			return err
		}
		wait := pause(tries, 0)
		r.cfg.Log.Warn("slack event refused, offering it again", "try", tries+1, "wait", wait, "error", err)
		if !sleep(ctx, wait) {
			return err
		}
	}
}

// readEnvelope decodes what an envelope carries.
func readEnvelope(e envelope) (item, error) {
	switch e.Type {
	case "events_api":
		return readEvent(e.Payload)
	case "slash_commands":
		return readCommand(e.Payload)
	case "interactive":
		return readPress(e.Payload)
	case "":
		return item{}, errors.New("not an envelope")
	}
	return item{}, fmt.Errorf("envelope of unknown type %q", e.Type)
}

// removed makes Run ask whether the token still holds.
func (a *Adapter) removed(event string) {
	a.cfg.Log.Warn("slack says that the app was removed, asking whether its token still holds", "event", event)
	a.doubt()
}

// doubt makes Run ask whether the token still holds; it does not wait for the answer.
func (a *Adapter) doubt() {
	select {
	case a.gone <- struct{}{}:
	default: // it will be asked
	}
}
