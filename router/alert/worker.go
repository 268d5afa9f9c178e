package alert

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sluice/internal/alert"
	"sluice/policy/flow"
	"sluice/router/lanes"
	"sluice/router/ledger"
	"sluice/sessions"
)

const (
	dueBatch    = 32    // open groups read at a time
	membersMax  = 1_000 // alerts of a group that one message looks at
	editWithin  = time.Minute
	editAgain   = 2 * time.Second
	digestAfter = time.Minute // the shortest time that what a budget holds back waits
	// faultPause is when a group that could not be worked on is tried again.
	faultPause = 30 * time.Second
)

// worker acts on the open groups of one partition. Only its lane's goroutine uses it.
type worker struct {
	all  *Alerts
	lane *lanes.Lane
}

// turn acts on the groups that are due, and waits for the next due time.
func (w *worker) turn() (lanes.Rest, error) {
	ctx, plan := w.lane.Context(), w.all.plan.Load()
	if plan == nil {
		return lanes.Rest{}, nil // the groups wait until alerts are configured again
	}
	open, err := w.all.Groups.DueGroups(ctx, w.lane.Partition(), dueBatch)
	if err != nil {
		return lanes.Rest{}, fmt.Errorf("read alert groups: %w", err)
	}
	var h *hushing
	for i := range open {
		if w.lane.Stopping() {
			return lanes.Rest{}, nil
		}
		if wait := open[i].Due.Sub(w.all.Now()); wait > 0 {
			if i > 0 { // a group that was looked at may be due before this one
				return lanes.Rest{Again: true}, nil
			}
			return lanes.Rest{Wait: wait}, nil
		}
		if h == nil {
			if h, err = w.all.hush(ctx, flow.Restricted); err != nil {
				return lanes.Rest{}, err
			}
		}
		if err := w.actOrPostpone(ctx, h, open[i]); err != nil {
			return lanes.Rest{}, err
		}
	}
	return lanes.Rest{Again: len(open) > 0}, nil
}

// actOrPostpone acts on a group. One that can't be worked on is tried again later, so that the others go on. One that somebody
// else has changed is read again in the next turn.
func (w *worker) actOrPostpone(ctx context.Context, h *hushing, g alert.Group) error {
	err := w.act(ctx, h, g)
	switch {
	case err == nil, errors.Is(err, sessions.ErrConflict):
		return nil
	case ctx.Err() != nil, errors.Is(err, sessions.ErrUnavailable), errors.Is(err, sessions.ErrFenced):
		return err
	}
	w.all.Log.Error("group of alerts can't be worked on, trying again later", "group", g.Key, "pause", faultPause, "err", err)
	if err = w.postpone(ctx, g, faultPause); errors.Is(err, sessions.ErrConflict) {
		return nil
	}
	return err
}

// postpone processes a group again later, and changes nothing else.
func (w *worker) postpone(ctx context.Context, g alert.Group, pause time.Duration) error {
	g.Revision, g.Epoch, g.Due = g.Revision+1, w.lane.Epoch(), w.all.Now().Add(pause)
	var change ledger.Change
	change.AlertGroups = []alert.Group{g}
	if err := w.all.Lanes.Commit(ctx, change); err != nil {
		return fmt.Errorf("store group of alerts: %w", err)
	}
	return nil
}

// act does what a due group asks for.
func (w *worker) act(ctx context.Context, h *hushing, g alert.Group) error {
	if g.Kind == digestKind {
		return w.digest(ctx, h, g)
	}
	members, err := w.all.Groups.GroupAlerts(ctx, g.Key, membersMax)
	if err != nil {
		return fmt.Errorf("read alerts of a group: %w", err)
	}
	var fault error
	scene := h.scene(g, members, w.all.Now())
	scene.Arrival = func(id string) alert.Arrival {
		arrival, err := w.arrival(ctx, id)
		fault = errors.Join(fault, err)
		return arrival
	}
	if h.plan.Budget.Max > 0 { // so that the groups of this replica do not refuse each other's changes
		w.all.counting.Lock()
		defer w.all.counting.Unlock()
	}
	n := &notifying{worker: w, plan: h.plan, was: g, members: members, decision: alert.Decide(scene)}
	if fault != nil {
		return fault
	}
	if n.decision.Group.Open {
		n.members = slices.DeleteFunc(n.members, func(a alert.Alert) bool { return slices.Contains(n.decision.Leave, a.Key) })
	}
	return n.commit(ctx)
}

// arrival is what is known of a delivery.
func (w *worker) arrival(ctx context.Context, id string) (alert.Arrival, error) {
	d, err := w.all.Store.Delivery(ctx, ledger.DeliveryID(id))
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return alert.Lost, nil
	case err != nil:
		return alert.Lost, fmt.Errorf("read delivery: %w", err)
	case d.Status == ledger.DeliverySent:
		return alert.Arrived, nil
	case unsettled(d.Status):
		return alert.Pending, nil
	}
	return alert.Lost, nil
}

// unsettled reports whether a delivery may still arrive.
func unsettled(s ledger.DeliveryStatus) bool {
	return s == ledger.DeliveryQueued || s == ledger.DeliverySending || s == ledger.DeliveryHeld || s == ledger.DeliveryPreview
}
