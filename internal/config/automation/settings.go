package automation

import (
	"cmp"
	"fmt"
	"time"

	"sluice/internal/cron"
	"sluice/router/job"
)

const (
	retriesMax     = 10
	backoffDefault = 30 * time.Second
	failuresMax    = 100
	fullHourJitter = time.Minute
)

// retry reads how often a failed run is repeated.
func (r Reader) retry(path string, j Job) job.Retry {
	r.must(j.Retry.Max >= 0 && j.Retry.Max <= retriesMax, path+"retry.max", "%d: want 0 to %d", j.Retry.Max, retriesMax)
	r.must(j.Retry.Backoff == 0 || j.Retry.Max > 0, path+"retry.backoff", "has no effect without max")
	r.must(j.Retry.Backoff == 0 || j.Retry.Backoff.Std() >= time.Second, path+"retry.backoff", "%s: want at least 1s", j.Retry.Backoff)
	return job.Retry{Max: j.Retry.Max, Backoff: cmp.Or(j.Retry.Backoff.Std(), backoffDefault)}
}

// ends reads when a job is over. A job with another end is planned again.
func (r Reader) ends(path string, j Job, read *job.Job, zone *time.Location) {
	if j.Ends == (Ends{}) {
		return
	}
	r.must(j.At == "", path+"ends", "has no effect with at, which is a single time")
	r.must(j.Ends.After >= 0, path+"ends.after", "%d: want at least 1", j.Ends.After)
	read.EndsAfter = j.Ends.After
	if j.Ends.At != "" {
		var err error
		if read.EndsAt, err = cron.ParseTime(j.Ends.At, zone); err != nil {
			r.Report(path+"ends.at", err.Error())
		}
	}
	read.Plan += fmt.Sprintf("|%d|%s", j.Ends.After, j.Ends.At)
}

// samples is how many times of a schedule are looked at to see whether all are at full hours.
const samples = 3

// fullHours reports whether an expression means full hours, at which many jobs are due at once.
func fullHours(s cron.Schedule) bool {
	if s.Cron == nil {
		return false
	}
	at := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	for range samples {
		if at = s.Next(at); at.IsZero() || at.Minute() != 0 || at.Second() != 0 {
			return false
		}
	}
	return true
}
