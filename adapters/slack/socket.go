package slack

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/adapters"
)

const (
	// links is how many WebSockets are kept open. Slack gives each event to one of
	// them, and all to the other while one is being replaced; it allows ten.
	links = 2
	// keepTrying is how long an event that the acceptor refuses is offered to it again, the
	// conversation waiting behind it: longer than Slack would give it again. Then it is left to Slack, unconfirmed.
	keepTrying = 10 * time.Minute
)

// receiver is Socket Mode while Run runs. Its goroutines: one for each link, one for each connection that
// has a successor, those of the connections, one that looks after the token, and one for each event that
// waits or is being accepted (at most maxPending); receive waits for all.
type receiver struct {
	cfg      Config
	state    *state
	web      *web
	intake   *intake
	in       adapters.Acceptor
	handlers sync.WaitGroup

	mu sync.Mutex
	up int // connections that were greeted and hold
}

// receive keeps the links up until ctx ends or one of them fails for good.
func (a *Adapter) receive(ctx context.Context, in adapters.Acceptor) error {
	r := &receiver{cfg: a.cfg, state: a.state, web: a.web, intake: a.intake, in: in}
	defer r.handlers.Wait()
	group, ctx := errgroup.WithContext(ctx)
	for range links {
		group.Go(func() error { return r.link(ctx) })
	}
	group.Go(func() error { return a.bot.keepIdentity(ctx, func() { r.connected(0, false) }) })
	return group.Wait()
}

// take hands an envelope on without blocking: a reader that waits would miss Slack's pings.
func (r *receiver) take(ctx context.Context, c *conn, raw []byte, e envelope) {
	it, err := readEnvelope(e)
	switch {
	case err != nil:
		r.intake.malformed(raw, err)
		r.confirm(c, e.ID)
		return
	case it.gone != "":
		r.confirm(c, e.ID)
		r.web.removed(it.gone)
		return
	case it.empty():
		r.intake.metrics.event(r.cfg.Account, outcomeIgnored)
		r.confirm(c, e.ID)
		return
	}
	place, ok := r.intake.lanes.take(it)
	if !ok {
		r.intake.metrics.event(r.cfg.Account, outcomeDropped)
		r.cfg.Log.Warn("too many slack events are waiting; Slack will deliver this one again", "most", maxPending, "retry", e.Retry)
		return
	}
	r.handlers.Go(func() {
		err := place.pass(ctx, func() error { return r.accept(ctx, it) })
		switch {
		case err == nil:
			r.confirm(c, e.ID)
		case ctx.Err() == nil: // at the stop it is left to Slack as well, but not as a fault
			r.cfg.Log.Error("slack event not accepted; Slack will deliver it again", "retry", e.Retry, "error", err)
		}
	})
}

func (r *receiver) confirm(c *conn, id string) {
	if id == "" {
		return
	}
	if err := c.ack(id); err != nil {
		r.cfg.Log.Debug("could not acknowledge a slack event; Slack will deliver it again", "error", err)
	}
}

// accept offers an item until it is taken, ctx ends, or it has been offered long enough.
func (r *receiver) accept(ctx context.Context, it item) error {
	began, pauses := time.Now(), r.web.again(nil).Pauses()
	for try := 1; ; try++ {
		err := r.intake.acceptOne(ctx, r.in, it)
		if err == nil || ctx.Err() != nil || time.Since(began) > keepTrying {
			return err
		}
		wait := pauses.NextBackOff()
		r.cfg.Log.Warn("slack event not accepted, trying again", "try", try, "wait", wait, "error", err)
		if !adapters.Sleep(ctx, wait) {
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
