package slack

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/adapters"
	"sluice/internal/pause"
)

const (
	// links is how many WebSockets are kept open. Slack sends each event to one of them, and allows ten. While one is
	// being replaced, the other receives all events.
	links = 2
	// keepTrying is how long a refused event is offered to the acceptor again, while its conversation waits. After that the
	// event stays unconfirmed, and Slack may repeat it.
	keepTrying = 10 * time.Minute
)

// receiver runs Socket Mode for Run. Its goroutines: one for each link, one for each replaced connection, those of the
// connections, one that checks the token, and one for each event that waits or is being accepted (at most maxPending).
// receive waits for all of them.
type receiver struct {
	cfg      Config
	state    *adapters.Tracker
	web      *web
	intake   *intake
	in       adapters.Acceptor
	handlers sync.WaitGroup

	mu sync.Mutex
	up int // open connections
}

// receive keeps the links open until ctx ends or one of them fails permanently.
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

// take passes an envelope on without blocking: a reader that waits would miss Slack's pings.
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
		case ctx.Err() == nil: // at the stop, Slack repeats it as well, but this is not a failure
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

// accept offers an item until it is accepted, ctx ends, or keepTrying has passed.
func (r *receiver) accept(ctx context.Context, it item) error {
	began, pauses := time.Now(), r.web.retryPolicy(nil).Pauses()
	for try := 1; ; try++ {
		err := r.intake.acceptOne(ctx, r.in, it)
		if err == nil || ctx.Err() != nil || time.Since(began) > keepTrying {
			return err
		}
		wait := pauses.NextBackOff()
		r.cfg.Log.Warn("slack event not accepted, trying again", "try", try, "wait", wait, "error", err)
		if pause.Wait(ctx, wait) != nil {
			return err
		}
	}
}

// readEnvelope decodes the content of an envelope.
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
