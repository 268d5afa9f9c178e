package job

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"sluice/router/ledger"
	"sluice/router/trigger"
	"sluice/sessions"
)

const (
	skipOne = 100 // instants that planning tries one after the other, if they were fired before a clock was set back
	skipMax = 120 // all tries: those after skipOne are 1, 2, 4 … minutes apart
)

// Plan implements [trigger.Planner]: each job of the partition gets one waiting trigger, of its present schedule, unless it is
// paused.
func (s *Source) Plan(ctx context.Context, p trigger.Partition) error {
	present, err := s.present(ctx, p.Number)
	if err != nil {
		return err
	}
	has := map[string]bool{}
	for _, t := range p.Open {
		job, ok := present[t.Subject]
		switch {
		case t.Status != ledger.TriggerWaiting || t.By != "" || ok && t.Begun():
		case ok && job.Plan == t.Plan && !has[t.Subject]:
			has[t.Subject] = true
		default:
			t.Revision, t.Epoch = t.Revision+1, p.Epoch
			t.Status, t.Why, t.Ended = ledger.TriggerWithdrawn, whyChanged, s.Now()
			change := ledger.Change{Triggers: []ledger.Trigger{t}}
			if !ok {
				if err := s.gone(ctx, &t, &change); err != nil {
					return err
				}
			}
			if err := p.Commit(ctx, change); err != nil {
				return err
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(present)) {
		if has[id] {
			continue
		}
		stored, err := present[id].First(ctx, s.Now(), s.Store, func(next ledger.Trigger) error {
			next.Partition = p.Number
			return p.Commit(ctx, ledger.Change{Triggers: []ledger.Trigger{next}})
		})
		if err != nil {
			return err
		}
		if !stored { // the other jobs of the partition go on
			s.Report(id, fmt.Errorf("job has no next time: %d of its next times are stored already; check the clock, then restart", skipMax))
		}
	}
	return nil
}

// present are the jobs of the partition whose instants are fired. It is read after the open triggers: pausing a job ends its
// waiting trigger in the commit of the pause.
func (s *Source) present(ctx context.Context, partition int) (map[string]*Job, error) {
	rows, err := s.Store.JobsIn(ctx, partition)
	if err != nil {
		return nil, fmt.Errorf("read jobs: %w", err)
	}
	present, all := map[string]*Job{}, s.current()
	for _, row := range rows {
		if row.Origin != ledger.JobMade || row.Paused {
			continue
		}
		job, err := s.Read(row)
		if err != nil {
			s.Report(row.ID, fmt.Errorf("job not planned: correct it with sluice cron update, or remove it: %w", err))
			continue
		}
		present[row.ID] = &job
	}
	for i := range all.list {
		if j := &all.list[i]; Partition(j.ID, s.Partitions) == partition {
			present[j.ID] = j
		}
	}
	for _, row := range rows {
		if job := present[row.ID]; row.Origin == ledger.JobOfFile && row.Paused && job != nil && !job.Made {
			delete(present, row.ID)
		}
	}
	return present, nil
}

// First has the next trigger of a job stored that has none waiting. A single time in the past is stored too, because it may
// still be fired, or is missed. False: store knew all triggers that were tried.
func (j *Job) First(ctx context.Context, now time.Time, history History, store func(ledger.Trigger) error) (stored bool, err error) {
	p, err := j.pastIn(ctx, history)
	if err != nil {
		return false, err
	}
	anchor := now.UTC().Truncate(time.Second)
	instant, ok := j.after(anchor, now)
	if !j.Schedule.At.IsZero() {
		instant, ok = j.Schedule.At.UTC(), true
	}
	skip := time.Duration(0)
	for n := range skipMax {
		if !ok {
			return true, nil
		}
		if err := store(j.counted(j.waiting(anchor, instant, now), p)); !errors.Is(err, sessions.ErrDuplicate) {
			return true, err
		}
		if n >= skipOne { // it was fired before, and so were many after it
			skip = max(2*skip, time.Minute)
		}
		instant, ok = j.after(anchor, instant.Add(skip))
	}
	return false, nil
}
