package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"sluice/router/ledger"
	"sluice/sessions"
)

// Drafts works out what changes of jobs store, and stores nothing: the caller stores the change, together with something else. If
// the job has changed by then, the store refuses the change with [sessions.ErrConflict] or ErrDuplicate.
type Drafts struct {
	Jobs     *Jobs
	Triggers Triggers
}

// Triggers has the triggers that are stored.
type Triggers interface {
	TriggersOf(ctx context.Context, keys []string) ([]ledger.Trigger, error)
}

// List lists jobs, see [Jobs.List].
func (d Drafts) List(ctx context.Context, p Page) (found []Job, more bool, err error) {
	return d.Jobs.List(ctx, p)
}

// Get finds a job.
func (d Drafts) Get(ctx context.Context, id string) (Job, error) { return d.Jobs.Get(ctx, id) }

// History lists the results of a job's instants.
func (d Drafts) History(ctx context.Context, q ledger.TriggerQuery) ([]ledger.Trigger, error) {
	return d.Jobs.History(ctx, q)
}

// of is the change that something would store.
func (d Drafts) of(ctx context.Context, do func(j *Jobs) error) (ledger.Change, error) {
	var change ledger.Change
	draft := *d.Jobs
	draft.Commit = func(_ context.Context, c ledger.Change) error {
		var keys []string
		for _, t := range c.Triggers {
			if t.Revision == 1 {
				keys = append(keys, t.Key)
			}
		}
		stored, err := d.Triggers.TriggersOf(ctx, keys)
		switch {
		case err != nil:
			return fmt.Errorf("read triggers: %w", err)
		case len(stored) > 0:
			return sessions.ErrDuplicate
		}
		change = c
		return nil
	}
	err := do(&draft)
	return change, err
}

// Add makes a job.
func (d Drafts) Add(ctx context.Context, id string, object json.RawMessage, who Maker) (ledger.Change, Job, error) {
	change, err := d.of(ctx, func(j *Jobs) error {
		_, err := j.Add(ctx, id, object, who)
		if errors.Is(err, sessions.ErrNotFound) {
			return nil // it is not stored yet
		}
		return err
	})
	if err != nil || len(change.Jobs) == 0 {
		return change, Job{}, err
	}
	read, err := d.Jobs.Configuration.Read(change.Jobs[0])
	return change, Job{Job: read, Row: change.Jobs[0]}, err
}

// Pause pauses a job. A change without rows says that it is paused already.
func (d Drafts) Pause(ctx context.Context, id string, who Maker) (ledger.Change, error) {
	return d.of(ctx, func(j *Jobs) error {
		_, err := j.Pause(ctx, id, who)
		return err
	})
}

// Resume ends a pause.
func (d Drafts) Resume(ctx context.Context, id string, who Maker) (ledger.Change, error) {
	return d.of(ctx, func(j *Jobs) error {
		_, err := j.Resume(ctx, id, who)
		return err
	})
}

// Run fires a job once now.
func (d Drafts) Run(ctx context.Context, id string, who Maker) (ledger.Change, error) {
	return d.of(ctx, func(j *Jobs) error {
		_, err := j.Run(ctx, id, who)
		return err
	})
}

// Remove removes a job.
func (d Drafts) Remove(ctx context.Context, id string, who Maker) (ledger.Change, error) {
	return d.of(ctx, func(j *Jobs) error { return j.Remove(ctx, id, who) })
}
