package operator

import (
	"context"
	"errors"
	"slices"
	"time"

	"sluice/internal/httpapi/auth"
	"sluice/policy/flow"
	"sluice/router/jobs"
	"sluice/router/ledger"
	"sluice/sessions"
)

// FailedRows reads which jobs have failed.
type FailedRows interface {
	// FailedJobs reads the ids of jobs with a time that has failed since then, at most limit, in order.
	FailedJobs(ctx context.Context, most flow.Level, since time.Time, limit int) ([]string, error)
}

const (
	failedWithin = 24 * time.Hour
	failedMax    = 100
)

// Failing returns the jobs whose latest time has failed within a day, by their ids, as far as the caller may know of them. At most
// 100 jobs that have failed are looked at; more reports whether there are others.
func (a *JobAPI) Failing(ctx context.Context) (failing []jobs.Job, more bool, err error) {
	who := auth.CallerOf(ctx)
	ids, err := a.Rows.FailedJobs(ctx, who.Level, a.Now().Add(-failedWithin), failedMax+1)
	if err != nil {
		return nil, false, err
	}
	if more = len(ids) > failedMax; more {
		ids = ids[:failedMax]
	}
	for _, id := range ids {
		j, err := a.Jobs.Get(ctx, id)
		if errors.Is(err, sessions.ErrNotFound) {
			continue // it was removed
		}
		if err != nil {
			return nil, false, err
		}
		if _, hidden := a.hiddenTarget(ctx, &j.Deliver); hidden || !who.Sees(j.Secrecy()) {
			continue
		}
		latest, err := a.Latest(ctx, id)
		if err != nil {
			return nil, false, err
		}
		if latest.Status == ledger.TriggerFailed || latest.Status == ledger.TriggerUndelivered {
			failing = append(failing, j)
		}
	}
	return failing, more, nil
}

// failingPage is a page of the failing jobs.
func (a *JobAPI) failingPage(ctx context.Context, p jobs.Page) (found []jobs.Job, more bool, err error) {
	all, _, err := a.Failing(ctx)
	if err != nil {
		return nil, false, err
	}
	all = slices.DeleteFunc(all, func(j jobs.Job) bool { return j.ID <= p.After })
	return all[:min(len(all), p.Limit)], len(all) > p.Limit, nil
}
