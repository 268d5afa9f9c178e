package trigger

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// errBusy says that another run works in a session that is to be empty.
var errBusy = errors.New("another run works in the session")

// begin adds the run of a trigger to a change, in the session of its key.
func (w *worker) begin(ctx context.Context, t ledger.Trigger, r *Run, change *ledger.Change) (ledger.Trigger, error) {
	record, err := w.all.Store.SessionByKey(ctx, r.Session)
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		record = w.create(r)
		change.Create = []sessions.Record{record}
	case err != nil:
		return t, fmt.Errorf("read session: %w", err)
	case r.Fresh:
		switch busy, err := w.busy(ctx, record.ID); {
		case err != nil:
			return t, err
		case busy && r.Busy != nil:
			return t, sessions.ErrConflict // since unlessBusy has looked
		case busy:
			return t, errBusy
		}
		record = w.renew(record, r, t, change)
	}
	now := w.all.Now()
	t.Attempts++
	run := sessions.Run{
		ID: sessions.NewRunID(), Session: record.ID, Partition: record.Partition, Kind: sessions.KindTrigger, Status: sessions.RunQueued,
		Input: sessions.Input{Text: r.Text, Quotations: r.Quotations, Owner: r.Owner}, Label: r.Label, EventKey: t.Key, Timeout: r.Timeout, Accepted: now,
	}
	if t.Attempts > 1 {
		run.EventKey += "#" + strconv.Itoa(t.Attempts)
	}
	change.Enqueue = []sessions.Run{run}
	t.Status, t.Session, t.Run, t.Due = ledger.TriggerRunning, record.ID, run.ID, now.Add(runLook)
	t.Label = t.Label.Join(r.Label)
	if t.Fired.IsZero() {
		t.Fired = now
	}
	return t, nil
}

// busy reports whether a session has a run.
func (w *worker) busy(ctx context.Context, id sessions.ID) (bool, error) {
	runs, err := w.all.Store.WaitingRuns(ctx, id, 1)
	if err != nil {
		return false, fmt.Errorf("read queue: %w", err)
	}
	return len(runs) > 0, nil
}

// unlessBusy replaces an effect with a run by the one for a busy session, if the session is busy.
func (w *worker) unlessBusy(ctx context.Context, e Effect, t *ledger.Trigger) (Effect, error) {
	record, err := w.all.Store.SessionByKey(ctx, e.Run.Session)
	if errors.Is(err, sessions.ErrNotFound) {
		return e, nil
	}
	if err != nil {
		return e, fmt.Errorf("read session: %w", err)
	}
	if busy, err := w.busy(ctx, record.ID); err != nil || !busy {
		return e, err
	}
	return e.Run.Busy(t), nil
}

// create is the record of a session that does not exist yet.
func (w *worker) create(r *Run) sessions.Record {
	record := w.all.Places.NewRecord(r.Session, r.Agent, sessions.Route{})
	r.bound(&record)
	return record
}

// bound gives a new session the label of its first text, which its key may be made of, its clearance and its model.
func (r *Run) bound(record *sessions.Record) {
	record.Taint = record.Taint.Join(r.Label)
	if r.Model != "" {
		record.Model = flow.NewText(r.Model, flow.Bottom()) // as the configuration says
	}
	if r.Clearance.Valid() {
		record.Clearance = flow.Min(record.Clearance, r.Clearance)
	}
}

// renew replaces a session by an empty one, unless a rule keeps it.
func (w *worker) renew(old sessions.Record, r *Run, t ledger.Trigger, change *ledger.Change) sessions.Record {
	entry, kept := w.all.Places.MayEnd(old, string(t.Source)+":"+t.Subject, r.Owner)
	if kept != "" {
		change.Audit = []sessions.AuditEntry{entry}
		return old
	}
	reset, _ := w.all.Places.Reset(old, flow.Level{})
	reset.Create[0].Agent = r.Agent
	r.bound(&reset.Create[0])
	change.End, change.Create = reset.End, reset.Create
	return reset.Create[0]
}

// watch looks whether the run of a trigger has ended, and delivers its reply.
func (w *worker) watch(ctx context.Context, t ledger.Trigger) error {
	run, err := w.all.Store.Run(ctx, t.Run)
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return w.end(ctx, t, ledger.TriggerFailed, "its run is no longer stored")
	case err != nil:
		return fmt.Errorf("read run: %w", err)
	case !run.Status.Terminal():
		t.Due = w.all.Now().Add(runLook)
		return w.commit(ctx, ledger.Change{Triggers: []ledger.Trigger{t}})
	}
	t.Label, t.Outcome, t.Usage = t.Label.Join(run.Label), run.Status, t.Usage.Add(run.Usage)
	switch {
	case run.Status != sessions.RunDone:
		why := "its run is " + string(run.Status)
		if run.Error != "" {
			why += ": " + run.Error
		}
		return w.end(ctx, t, ledger.TriggerFailed, why)
	case sessions.Silent(run.Reply):
		return w.end(ctx, t, ledger.TriggerOK, "the agent had nothing to say")
	}
	var change ledger.Change
	if t, err = w.send(ctx, t, said{text: run.Reply, label: run.Label, session: run.Session}, &change); err != nil {
		return err
	}
	change.Triggers = append(change.Triggers, t)
	return w.commit(ctx, change)
}
