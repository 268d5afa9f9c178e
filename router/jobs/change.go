package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sluice/policy/flow"
	"sluice/router/job"
	"sluice/router/ledger"
	"sluice/router/request"
	"sluice/sessions"
)

// Maker is who makes or changes a job.
type Maker struct {
	Actor string     // for the audit trail
	Level flow.Level // the highest level that they see
	Label flow.Label // of what they write
	Owner bool       // they have an owner's authority: the job may deliver everywhere
	// Bounded: their jobs are bounded in number, distance and rate. Everybody's but an owner's own are.
	Bounded   bool
	Session   sessions.ID    // of an agent
	Home      sessions.Route // its conversation
	Agent     string         // that works on the prompts of its jobs
	Clearance flow.Level     // of its session
	// Once names what is done. Who does it again under the same name changes nothing more; empty: each time counts.
	Once string
	// MaySend refuses targets on a channel; nil: none.
	MaySend func(channel, account string) error
}

// The bounds of jobs whose maker is bounded.
const (
	SessionMax  = 20          // jobs of a session
	GatewayMax  = 500         // jobs made at run time, as far as the maker's level goes
	RecentMax   = 10          // jobs that a session makes in recentSpan
	MinDistance = time.Minute // between two instants
	recentSpan  = 10 * time.Minute
	allMax      = 10_000 // jobs made at run time, also of owners
	tries       = 5
)

// change stores a change of a job with its waiting triggers. It is worked out again if an instant is fired meanwhile.
func (s *Jobs) change(ctx context.Context, id string, who Maker, work func(ctx context.Context, j *Job) error) (Job, error) {
	for range tries {
		j, err := s.find(ctx, id)
		if err == nil {
			err = owned(&j, who)
		}
		if err == nil {
			err = work(ctx, &j)
		}
		if err == nil {
			return s.Get(ctx, id)
		}
		if !errors.Is(err, sessions.ErrConflict) {
			return Job{}, err
		}
	}
	return Job{}, sessions.ErrConflict
}

// owned refuses changes by a program whose token is limited, unless it has made the job itself: another job may say more, and has
// more rights, than the token. An agent for which no owner speaks leaves the jobs alone that have an owner's rights.
func owned(j *Job, who Maker) error {
	switch {
	case !who.Bounded, who.Agent == "" && j.Made && j.Row.Maker == who.Actor:
		return nil
	case who.Agent != "" && (who.Owner || !j.Owner):
		return nil
	}
	return &request.Error{Field: "id", Text: "only an owner, or who has made this job, may change, pause or fire it"}
}

// withdrawn are the waiting triggers of a job, which end in a change.
func (s *Jobs) withdrawn(ctx context.Context, id, why string) ([]ledger.Trigger, error) {
	open, err := s.Store.OpenTriggersOf(ctx, ledger.TriggerCron, []string{id})
	if err != nil {
		return nil, fmt.Errorf("read open triggers: %w", err)
	}
	var gone []ledger.Trigger
	for _, t := range open {
		if t.Status == ledger.TriggerWaiting && t.By == "" {
			t.Revision++
			t.Status, t.Why, t.Ended = ledger.TriggerWithdrawn, why, s.Now()
			gone = append(gone, t)
		}
	}
	return gone, nil
}

// plan commits a change together with the job's next trigger.
func (s *Jobs) plan(ctx context.Context, j *job.Job, change ledger.Change) error {
	done := false
	stored, err := j.First(ctx, s.Now(), s.Store, func(next ledger.Trigger) error {
		next.Partition = job.Partition(j.ID, s.Partitions)
		with := change
		with.Triggers = slices.Concat(change.Triggers, []ledger.Trigger{next})
		done = true
		return s.Commit(ctx, with)
	})
	switch {
	case err != nil:
		return err
	case !stored:
		return &request.Error{Field: "job", Text: "has no next time that was not fired before: check the gateway's clock"}
	case !done:
		return s.Commit(ctx, change)
	}
	return nil
}

// audited is a change with its audit entry.
func (s *Jobs) audited(change ledger.Change, j *Job, who Maker, action string) ledger.Change {
	change.Audit = append(change.Audit, sessions.AuditEntry{At: s.Now(), Actor: who.Actor, Action: action, Object: j.ID, Session: who.Session, Label: j.Secrecy()})
	return change
}

// next is the row of a job after a change.
func (s *Jobs) next(j *Job, who Maker) ledger.Job {
	row := j.Row
	now := s.Now()
	if row.Revision == 0 {
		row = ledger.Job{Origin: ledger.JobOfFile, ID: j.ID, Partition: job.Partition(j.ID, s.Partitions), Label: flow.Bottom(), Created: now}
	}
	row.Revision++
	row.By, row.Changed = who.Actor, now
	return row
}

// Pause pauses a job: its instants are neither fired nor counted as missed.
func (s *Jobs) Pause(ctx context.Context, id string, who Maker) (Job, error) {
	return s.change(ctx, id, who, func(ctx context.Context, j *Job) error {
		if j.Paused() {
			return nil
		}
		row := s.next(j, who)
		row.Paused = true
		gone, err := s.withdrawn(ctx, id, job.WhyPaused)
		if err != nil {
			return err
		}
		return s.Commit(ctx, s.audited(ledger.Change{Jobs: []ledger.Job{row}, Triggers: gone}, j, who, "cron.pause"))
	})
}

// Resume ends a pause. The job goes on with its next instant.
func (s *Jobs) Resume(ctx context.Context, id string, who Maker) (Job, error) {
	return s.change(ctx, id, who, func(ctx context.Context, j *Job) error {
		if !j.Paused() {
			return nil
		}
		if err := s.sound(j); err != nil {
			return err
		}
		row := s.next(j, who)
		row.Paused, row.Gone = false, !j.Made
		return s.plan(ctx, &j.Job, s.audited(ledger.Change{Jobs: []ledger.Job{row}}, j, who, "cron.resume"))
	})
}

// sound refuses a job that would never be fired.
func (s *Jobs) sound(j *Job) error {
	switch {
	case j.Fault != "":
		return &request.Error{Field: "job", Text: j.Fault}
	case !j.Schedule.At.IsZero() && !j.Schedule.At.After(s.Now()):
		return &request.Error{Field: "job.at", Text: "has passed: give a time in the future"}
	}
	return nil
}

// Run fires a job once now, also while it is paused.
func (s *Jobs) Run(ctx context.Context, id string, who Maker) (ledger.Trigger, error) {
	j, err := s.find(ctx, id)
	if err != nil {
		return ledger.Trigger{}, err
	}
	if err := owned(&j, who); err != nil {
		return ledger.Trigger{}, err
	}
	if j.Fault != "" {
		return ledger.Trigger{}, &request.Error{Field: "job", Text: j.Fault}
	}
	now := s.Now()
	name := now.UTC().Format(time.RFC3339Nano)
	if who.Once != "" {
		name = ending(who.Once)
	}
	t := j.ByHand(who.Actor, name, now, job.Partition(id, s.Partitions))
	err = s.Commit(ctx, s.audited(ledger.Change{Triggers: []ledger.Trigger{t}}, &j, who, "cron.run"))
	switch {
	case errors.Is(err, sessions.ErrDuplicate) && who.Once != "":
		return t, nil
	case errors.Is(err, sessions.ErrDuplicate):
		err = sessions.ErrConflict // at the same moment by somebody else
	}
	return t, err
}

// Remove removes a job that was made at run time. Its history is kept.
func (s *Jobs) Remove(ctx context.Context, id string, who Maker) error {
	for range tries {
		j, err := s.find(ctx, id)
		if err != nil {
			return err
		}
		if err := owned(&j, who); err != nil {
			return err
		}
		if !j.Made {
			return inFile(&j)
		}
		row := s.next(&j, who)
		row.Gone = true
		gone, err := s.withdrawn(ctx, id, "the job was removed")
		if err != nil {
			return err
		}
		change := ledger.Change{Jobs: []ledger.Job{row}, Triggers: gone}
		if err := s.Configuration.Removed(ctx, id, &change); err != nil {
			return err
		}
		err = s.Commit(ctx, s.audited(change, &j, who, "cron.remove"))
		if !errors.Is(err, sessions.ErrConflict) {
			return err
		}
	}
	return sessions.ErrConflict
}
