package job

import (
	"context"
	"errors"
	"fmt"
	"time"

	report "sluice/internal/alert"
	"sluice/policy/flow"
	"sluice/router/alert"
	"sluice/router/ledger"
	"sluice/router/request"
	"sluice/router/trigger"
	"sluice/sessions"
)

// Retry says how often, and after what time, the failed run of an instant is repeated.
type Retry struct {
	Max     int
	Backoff time.Duration // before the first; it doubles
}

// maxBackoff is the longest time before a retry.
const maxBackoff = time.Hour

// pause is the time before the next run of an instant that has had some.
func (r Retry) pause(runs int) time.Duration {
	wait := r.Backoff
	for ; runs > 1 && wait < maxBackoff; runs-- {
		wait *= 2
	}
	return min(wait, maxBackoff)
}

// OnFailure says when somebody is told that a job fails.
type OnFailure struct {
	Alert string // severity; empty: the owner is told
	After int    // failures in a row; 0: the first
}

// Alerts takes reports about alerts in, see [alert.Alerts].
type Alerts interface {
	// Report adds a report to a change. The error is [alert.ErrOff] if alerts are off, and a *[request.Error] if too many are
	// open.
	Report(ctx context.Context, in report.Incoming, change *ledger.Change) error
}

// historyMore is how many instants without a failure, such as skipped ones, may be between failures in a row.
const historyMore = 20

// Ended implements [trigger.Ender]: a failed run is repeated, somebody is told of failures in a row, and the alert of
// a job that works again is resolved.
func (s *Source) Ended(ctx context.Context, t *ledger.Trigger, change *ledger.Change) (trigger.Tell, error) {
	job, _, err := s.find(ctx, t.Subject)
	switch {
	case err != nil:
		return trigger.TellNobody, err
	case t.Status == ledger.TriggerFailed && t.Superseded:
		t.Status, t.Why = ledger.TriggerSkipped, superseded
		return trigger.TellNobody, nil
	case t.Status == ledger.TriggerOK && job != nil && job.OnFailure.Alert != "":
		return trigger.TellNobody, s.over(ctx, about(t), change)
	case !t.Status.Bad():
		return trigger.TellNobody, nil
	case job == nil:
		return trigger.TellUsual, nil
	case t.Status == ledger.TriggerFailed && t.Attempts <= job.Retry.Max && t.Outcome != sessions.RunAborted:
		t.Status, t.Ended, t.Due = ledger.TriggerWaiting, time.Time{}, s.Now().Add(job.Retry.pause(t.Attempts))
		return trigger.TellNobody, nil
	}
	return s.failed(ctx, job, t, change)
}

// failed tells somebody of a job that has failed often enough in a row. An alert is reported again by each further failure: it is
// one more occurrence, or a new alert if the previous one was resolved.
func (s *Source) failed(ctx context.Context, job *Job, t *ledger.Trigger, change *ledger.Change) (trigger.Tell, error) {
	after := max(job.OnFailure.After, 1)
	times, err := s.failures(ctx, job)
	switch {
	case err != nil:
		return trigger.TellNobody, err
	case times < after, times > after && job.OnFailure.Alert == "":
		return trigger.TellNobody, nil
	case job.OnFailure.Alert == "":
		return trigger.TellNow, nil
	}
	err = s.Alerts.Report(ctx, failing(job, t, times), change)
	if _, refused := errors.AsType[*request.Error](err); refused || errors.Is(err, alert.ErrOff) {
		if times > after { // the owner was told before
			return trigger.TellNobody, nil
		}
		return trigger.TellNow, nil
	}
	return trigger.TellNobody, err
}

// failing is the report of a job that fails.
func failing(job *Job, t *ledger.Trigger, times int) report.Incoming {
	in := about(t)
	in.Severity, in.Title = report.Severity(job.OnFailure.Alert), fmt.Sprintf("The job %s has failed", job.ID)
	if times > 1 {
		in.Title += fmt.Sprintf(" %d times in a row", times)
	}
	in.Text = fmt.Sprintf("`sluice cron history %s` says why.", job.ID)
	in.Labels, in.Started = map[string]string{"job": job.ID}, t.Ended
	return in
}

// gone adds to a change what follows from the end of a waiting trigger: if its job was removed, the job's alert is resolved.
func (s *Source) gone(ctx context.Context, t *ledger.Trigger, change *ledger.Change) error {
	if job, _, err := s.find(ctx, t.Subject); err != nil || job != nil {
		return err
	}
	return s.over(ctx, about(t), change)
}

// Removed adds to a change what follows from the removal of a job: its alert is resolved.
func (s *Source) Removed(ctx context.Context, id string, change *ledger.Change) error {
	return s.over(ctx, about(&ledger.Trigger{Subject: id}), change)
}

// over resolves the alert of a job that works again or was removed.
func (s *Source) over(ctx context.Context, in report.Incoming, change *ledger.Change) error {
	in.Action = report.Resolve
	if err := s.Alerts.Report(ctx, in, change); !errors.Is(err, alert.ErrOff) {
		return err
	}
	return nil
}

// about is the start of a report about a job. Like a notice to the owner, it has nothing that a run or its session has learned.
func about(t *ledger.Trigger) report.Incoming {
	in := report.Incoming{Key: "cron/" + t.Subject, Source: "cron/" + t.Subject, Label: flow.Bottom()}
	if t.Names.Valid() {
		in.Label = in.Label.Join(t.Names)
	}
	return in
}

// failures counts how often a job has failed in a row, with the failure that is being stored. It stops when it knows that
// this is more often than the job asks for.
func (s *Source) failures(ctx context.Context, job *Job) (int, error) {
	limit := max(job.OnFailure.After, 1) + historyMore
	ended, err := s.Store.EndedTriggers(ctx, ledger.EndedTriggers{Source: ledger.TriggerCron, Subject: job.ID, Limit: limit})
	if err != nil {
		return 0, fmt.Errorf("read earlier instants: %w", err)
	}
	times := 1
	for _, e := range ended {
		if e.Status == ledger.TriggerOK {
			break
		}
		if e.Status.Bad() {
			times++
		}
	}
	return times, nil
}
