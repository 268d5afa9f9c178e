package trigger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sluice/router/lanes"
	"sluice/router/ledger"
	"sluice/sessions"
)

const (
	dueBatch = 32     // open triggers read at a time
	planMax  = 20_000 // open triggers of a partition that planning looks at
	// faultPause is when a trigger that could not be worked on is tried again.
	faultPause = 30 * time.Second
	// runLook is how often the run of a trigger is checked, in case the signal of its end was lost.
	runLook = time.Minute
	// strangeLife is how long a trigger without a source waits for a gateway that has it, such as the next version while replicas
	// are replaced one by one.
	strangeLife = 24 * time.Hour
	// busyPause is when a run that can't begin beside another one is tried again.
	busyPause = 10 * time.Second
)

// worker acts on the open triggers of one partition. Only its lane's goroutine uses it.
type worker struct {
	all      *Triggers
	lane     *lanes.Lane
	planners map[ledger.TriggerSource]Planner
	planned  map[ledger.TriggerSource]int64 // versions
}

// turn acts on what is due, and waits for the next due time.
func (w *worker) turn() (lanes.Rest, error) {
	ctx := w.lane.Context()
	if err := w.plan(ctx); err != nil {
		return lanes.Rest{}, err
	}
	open, err := w.all.Store.OpenTriggers(ctx, w.lane.Partition(), dueBatch)
	if err != nil {
		return lanes.Rest{}, fmt.Errorf("read open triggers: %w", err)
	}
	changed := false
	for _, t := range open {
		if w.lane.Stopping() {
			return lanes.Rest{}, nil
		}
		if wait := t.Due.Sub(w.all.Now()); wait > 0 {
			if changed || w.toPlan() {
				return lanes.Rest{Again: true}, nil // a row may be due before this one
			}
			return lanes.Rest{Wait: wait}, nil
		}
		again, err := w.actOrPostpone(ctx, t)
		if err != nil {
			return lanes.Rest{}, err
		}
		changed = changed || again
	}
	return lanes.Rest{Again: changed || w.toPlan() || len(open) == dueBatch}, nil
}

// actOrPostpone acts on a trigger. One that can't be worked on is tried again later, so that the others go on. It reports whether
// somebody else has changed a row, so that the trigger is to be read again.
func (w *worker) actOrPostpone(ctx context.Context, t ledger.Trigger) (again bool, err error) {
	before := t
	t.Revision, t.Epoch = t.Revision+1, w.lane.Epoch()
	err = w.act(ctx, t)
	switch {
	case err == nil:
		return false, nil
	case ctx.Err() != nil, errors.Is(err, sessions.ErrUnavailable), errors.Is(err, sessions.ErrFenced):
		return false, err
	case errors.Is(err, sessions.ErrConflict):
		return true, nil
	}
	w.all.Log.Error("trigger can't be worked on, trying again later", "trigger", t.Key, "status", string(t.Status), "pause", faultPause, "err", err)
	before.Revision, before.Epoch, before.Due = t.Revision, t.Epoch, w.all.Now().Add(faultPause)
	return false, w.commit(ctx, ledger.Change{Triggers: []ledger.Trigger{before}})
}

// act does what a due trigger asks for.
func (w *worker) act(ctx context.Context, t ledger.Trigger) error {
	switch t.Status {
	case ledger.TriggerDelivering:
		return w.follow(ctx, t)
	case ledger.TriggerRunning:
		return w.watch(ctx, t)
	}
	return w.fire(ctx, t)
}

// fire asks a trigger's source what follows, and stores it in one transaction.
func (w *worker) fire(ctx context.Context, t ledger.Trigger) error {
	source, ok := w.all.Sources[t.Source]
	if !ok {
		return w.strange(ctx, t)
	}
	before := t
	e, err := source.Fire(ctx, &t)
	if err == nil && e.Run != nil && e.Run.Busy != nil {
		e, err = w.unlessBusy(ctx, e, &t)
	}
	if err != nil {
		return fmt.Errorf("fire: %w", err)
	}
	var change ledger.Change
	switch {
	case e.End != "":
		t = w.ended(t, e.End, e.Why)
		err = w.conclude(ctx, &t, &change)
	case e.Wait > 0:
		t.Due = w.all.Now().Add(e.Wait)
	case e.Run != nil:
		t.Deliver = e.Deliver
		t, err = w.begin(ctx, t, e.Run, &change)
		if errors.Is(err, errBusy) {
			return w.blocked(ctx, before, &e)
		}
	default:
		t.Deliver, t.Text = e.Deliver, e.Text
		t.Fired = w.all.Now()
		t, err = w.send(ctx, t, said{text: e.Text, label: t.Label}, &change)
	}
	if err != nil {
		return err
	}
	err = w.commit(ctx, together(change, t, e.Change))
	if errors.Is(err, sessions.ErrDuplicate) && slices.ContainsFunc(e.Change.Triggers, isNew) { // one of them is stored already
		e.Change.Triggers = slices.DeleteFunc(e.Change.Triggers, isNew)
		delete(w.planned, t.Source)
		err = w.commit(ctx, together(change, t, e.Change))
	}
	if err == nil && e.Stored != nil {
		e.Stored()
	}
	return err
}

// strange postpones a trigger without a source.
func (w *worker) strange(ctx context.Context, t ledger.Trigger) error {
	if w.all.Now().Sub(t.Created) > strangeLife {
		return w.end(ctx, t, ledger.TriggerWithdrawn, "no gateway has handled it in "+strangeLife.String())
	}
	t.Due, t.Why = w.all.Now().Add(faultPause), "this gateway has nothing that handles it; it waits for one that has"
	return w.commit(ctx, ledger.Change{Triggers: []ledger.Trigger{t}})
}

// blocked stores that the run of a trigger can't begin, because another one works in its session. The instant is skipped, unless it has
// begun already: then it waits.
func (w *worker) blocked(ctx context.Context, t ledger.Trigger, e *Effect) error {
	if t.Begun() {
		t.Due = w.all.Now().Add(busyPause)
		return w.commit(ctx, ledger.Change{Triggers: []ledger.Trigger{t}})
	}
	t = w.ended(t, ledger.TriggerSkipped, "the run before it has not ended")
	err := w.commit(ctx, together(ledger.Change{}, t, e.Skipped))
	if errors.Is(err, sessions.ErrDuplicate) {
		delete(w.planned, t.Source)
		err = w.commit(ctx, ledger.Change{Triggers: []ledger.Trigger{t}})
	}
	return err
}

func isNew(t ledger.Trigger) bool { return t.Revision == 1 }

// together is a trigger with what the engine and the source add to its change.
func together(change ledger.Change, t ledger.Trigger, more ledger.Change) ledger.Change {
	all := more
	all.Triggers = slices.Concat([]ledger.Trigger{t}, more.Triggers)
	all.Deliver = slices.Concat(change.Deliver, more.Deliver)
	all.Create = slices.Concat(change.Create, more.Create)
	all.End = slices.Concat(change.End, more.End)
	all.Enqueue = slices.Concat(change.Enqueue, more.Enqueue)
	all.Audit = slices.Concat(change.Audit, more.Audit)
	all.Alerts = slices.Concat(change.Alerts, more.Alerts)
	all.AlertTouches = slices.Concat(change.AlertTouches, more.AlertTouches)
	return all
}

// end stores that a trigger has come to its end.
func (w *worker) end(ctx context.Context, t ledger.Trigger, status ledger.TriggerStatus, why string) error {
	t = w.ended(t, status, why)
	var change ledger.Change
	if err := w.conclude(ctx, &t, &change); err != nil {
		return err
	}
	change.Triggers = append(change.Triggers, t)
	return w.commit(ctx, change)
}

// conclude asks the source of a trigger that has ended what follows, and adds that and what the owner is told.
func (w *worker) conclude(ctx context.Context, t *ledger.Trigger, change *ledger.Change) error {
	tell := TellUsual
	if e, ok := w.all.Sources[t.Source].(Ender); ok {
		var err error
		if tell, err = e.Ended(ctx, t, change); err != nil {
			return fmt.Errorf("end: %w", err)
		}
	}
	if !t.Status.Bad() || tell == TellNobody {
		return nil
	}
	return w.tellOwner(ctx, t, tell, change)
}

// ended is a trigger that has come to its end.
func (w *worker) ended(t ledger.Trigger, status ledger.TriggerStatus, why string) ledger.Trigger {
	t.Status, t.Why, t.Ended = status, why, w.all.Now()
	return t
}

func (w *worker) commit(ctx context.Context, change ledger.Change) error {
	if err := w.all.Lanes.Commit(ctx, change); err != nil {
		return fmt.Errorf("store triggers: %w", err)
	}
	return nil
}

// toPlan reports whether a source has something to plan.
func (w *worker) toPlan() bool {
	for name, p := range w.planners {
		if version, ok := w.planned[name]; !ok || version != p.Version() {
			return true
		}
	}
	return false
}

// plan lets the sources store their triggers.
func (w *worker) plan(ctx context.Context) error {
	if !w.toPlan() {
		return nil
	}
	open, err := w.all.Store.OpenTriggers(ctx, w.lane.Partition(), planMax)
	if err != nil {
		return fmt.Errorf("read open triggers: %w", err)
	}
	for name, p := range w.planners {
		version := p.Version()
		if planned, ok := w.planned[name]; ok && planned == version {
			continue
		}
		part := Partition{Number: w.lane.Partition(), Epoch: w.lane.Epoch(), Commit: w.commit}
		for _, t := range open {
			if t.Source == name {
				part.Open = append(part.Open, t)
			}
		}
		if err := p.Plan(ctx, part); err != nil {
			return fmt.Errorf("plan %s: %w", name, err)
		}
		w.planned[name] = version
	}
	return nil
}
