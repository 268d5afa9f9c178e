package router_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/alert"
	"sluice/internal/cron"
	"sluice/internal/pause"
	"sluice/policy/flow"
	router_alert "sluice/router/alert"
	"sluice/router/job"
	"sluice/router/ledger"
	"sluice/sessions"
)

// lasting makes every run of a bundle's agent last some time.
func (b *bundle) lasting(d time.Duration) {
	b.agent.answers(func(ctx context.Context, _ string, _ func(sessions.Event)) (string, error) {
		return "done", pause.Wait(ctx, d)
	})
}

// slow is a job whose runs may last some hours.
func slow(overlap job.Overlap) job.Job {
	j := prompting("slow", "think", "ann")
	j.Timeout, j.Overlap = 4*time.Hour, overlap
	return j
}

// An instant waits for the run before it. A second one does not.
func TestJobQueuesOneInstant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, doing(slow(job.OverlapQueue)))
		b.lasting(150 * time.Minute)
		pass(3*time.Hour + 29*time.Minute)
		synctest.Wait()
		require.Equal(t, []ledger.TriggerStatus{"skipped"}, b.fired("slow"), "the third")
		require.Len(t, b.runsOf("cron:slow"), 1)
		pass(2 * time.Minute)
		synctest.Wait()
		require.Equal(t, []ledger.TriggerStatus{"skipped", "ok"}, b.fired("slow"), "the first has ended")
		runs := b.runsOf("cron:slow")
		require.Len(t, runs, 2)
		require.Equal(t, "cron/slow/2000-01-01T02:00:00Z", runs[1].EventKey)
		b.restart()
		pass(155 * time.Minute)
		synctest.Wait()
		require.Len(t, b.chat.texts("ann"), 2)
	})
}

// An instant ends the run before it. Nobody is told, because this is what was asked for.
func TestJobCancelsTheRunBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, doing(slow(job.OverlapCancel)))
		b.lasting(90 * time.Minute)
		pass(3*time.Hour + time.Minute)
		synctest.Wait()
		require.Equal(t, []ledger.TriggerStatus{"skipped", "skipped"}, b.fired("slow"))
		runs := b.runsOf("cron:slow")
		require.Len(t, runs, 3)
		require.Equal(t, []sessions.RunStatus{"aborted", "aborted", "running"}, []sessions.RunStatus{runs[0].Status, runs[1].Status, runs[2].Status})
		require.Empty(t, b.chat.texts("ann"))
		require.Empty(t, b.chat.texts("owner"))
		b.JobSource().Configure(nil, nil)
		pass(2 * time.Hour)
		synctest.Wait()
		require.Equal(t, []string{"done"}, b.chat.texts("ann"), "the last one was left alone")
	})
}

// failingTimes makes the agent fail some times.
func (b *bundle) failingTimes(n int) {
	b.agent.answers(func(context.Context, string, func(sessions.Event)) (string, error) {
		if n--; n >= 0 {
			return "", &sessions.WorkError{Status: sessions.RunFailed, Public: "the model is away", Err: context.Canceled}
		}
		return "done", nil
	})
}

// A failed run is repeated with growing pauses.
func TestJobRepeatsAFailedRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := prompting("brief", "news?", "ann")
		j.Retry = job.Retry{Max: 2, Backoff: 30 * time.Second}
		b := newBundle(t, doing(j))
		b.failingTimes(2)
		pass(time.Hour + 80*time.Second)
		synctest.Wait()
		require.Len(t, b.runsOf("cron:brief"), 2)
		pass(20 * time.Second)
		synctest.Wait()
		runs := b.runsOf("cron:brief")
		require.Len(t, runs, 3)
		require.Equal(t, "cron/brief/2000-01-01T01:00:00Z#3", runs[2].EventKey)
		require.Equal(t, []string{"done"}, b.chat.texts("ann"))
		require.Equal(t, []ledger.TriggerStatus{"ok"}, b.fired("brief"))
		require.Equal(t, []int{1, 2}, []int{b.audited("cron.fired"), b.audited("cron.retried")})
		require.Empty(t, b.chat.texts("owner"))

		b.failingTimes(3)
		pass(time.Hour)
		synctest.Wait()
		require.Equal(t, []ledger.TriggerStatus{"ok", "failed"}, b.fired("brief"))
		require.Len(t, b.runsOf("cron:brief"), 6)
		require.Len(t, b.chat.texts("owner"), 1)
	})
}

// A run that a person has ended is not repeated.
func TestAbortedRunOfAJobIsNotRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := slow("")
		j.Retry = job.Retry{Max: 2, Backoff: 30 * time.Second}
		b := newBundle(t, doing(j))
		b.lasting(30 * time.Minute)
		pass(time.Hour + time.Minute)
		synctest.Wait()
		runs := b.runsOf("cron:slow")
		require.Len(t, runs, 1)
		require.NoError(t, b.Owner().Commit(t.Context(), ledger.Change{Change: sessions.Change{Abort: []sessions.Abort{{Session: runs[0].Session, At: b.now()}}}}))
		pass(10 * time.Minute)
		synctest.Wait()
		require.Len(t, b.runsOf("cron:slow"), 1)
		require.Equal(t, []ledger.TriggerStatus{"failed"}, b.fired("slow"))
	})
}

// The owner is told when a job has failed several times in a row, once until it works again.
func TestOwnerIsToldOfFailuresInARow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := prompting("brief", "news?", "ann")
		j.OnFailure.After = 3
		b := newBundle(t, doing(j))
		b.failingTimes(4)
		for _, told := range []int{0, 0, 1, 1} {
			pass(time.Hour + time.Second)
			synctest.Wait()
			require.Len(t, b.chat.texts("owner"), told)
		}
		pass(time.Hour)
		synctest.Wait()
		require.Len(t, b.chat.texts("ann"), 1)
		b.failingTimes(3)
		pass(3 * time.Hour)
		synctest.Wait()
		require.Len(t, b.chat.texts("owner"), 2)
	})
}

// A job with an alert raises it once for failures in a row, in the commit that stores the last of them, and the owner is not told too.
func TestFailedJobRaisesAnAlert(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := prompting("brief", "news?", "ann")
		j.OnFailure = job.OnFailure{Alert: "error", After: 2}
		b := newBundle(t, doing(j), alerting(nil, alert.Step{Notify: []string{"bob"}}))
		b.failingTimes(3)
		pass(time.Hour + time.Minute)
		synctest.Wait()
		all, err := b.store.AlertsByKey(t.Context(), []string{"cron/brief"})
		require.NoError(t, err)
		require.Empty(t, all, "one failure is no alert")
		pass(2 * time.Hour)
		synctest.Wait()
		raised := mustAlert(b, "cron/brief")
		require.Equal(t, []any{alert.Error, "cron/brief", 2, flow.Bottom()}, []any{raised.Severity, raised.Source, raised.Occurrences, raised.Label})
		require.Equal(t, []string{"**ERROR** The job brief has failed 2 times in a row\n`sluice cron history brief` says why."}, b.alarms("bob"))
		require.Empty(t, b.chat.texts("owner"))
		pass(2 * time.Hour)
		synctest.Wait()
		over := mustAlert(b, "cron/brief")
		require.Equal(t, []any{alert.Resolved, ""}, []any{over.Status, over.By}, "the job works again")
		revision := over.Revision
		pass(2 * time.Hour)
		synctest.Wait()
		require.Equal(t, revision, mustAlert(b, "cron/brief").Revision, "once")

		b.failingTimes(5)
		pass(2 * time.Hour)
		synctest.Wait()
		_, err = b.Router.Alerts().Obey(t.Context(), router_alert.Order{Action: alert.Resolve, Name: "cron/brief", Actor: "test:owner", MaxLevel: flow.Restricted})
		require.NoError(t, err)
		pass(time.Hour)
		synctest.Wait()
		require.Equal(t, alert.Firing, mustAlert(b, "cron/brief").Status, "it still fails")
		b.JobSource().Configure(nil, nil)
		pass(2 * time.Hour)
		synctest.Wait()
		require.Equal(t, alert.Resolved, mustAlert(b, "cron/brief").Status, "the job is gone")
	})
}

// The alert of a job that fails before an agent is asked, or when its text is sent, is stored too.
func TestUndeliveredJobRaisesAnAlert(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := hourly("water", "ann")
		j.OnFailure.Alert, j.Deliver.To[0].Channel = "warning", "gone"
		b := newBundle(t, doing(j), alerting(nil, alert.Step{Notify: []string{"bob"}}))
		pass(time.Hour + time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"**WARNING** The job water has failed\n`sluice cron history water` says why."}, b.alarms("bob"))
		require.Empty(t, b.chat.texts("owner"))
	})
}

// Without alerts the owner is told of the failure.
func TestFailedJobTellsTheOwnerWithoutAlerts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := prompting("brief", "news?", "ann")
		j.OnFailure.Alert = "error"
		b := newBundle(t, doing(j))
		b.failingTimes(1)
		pass(time.Hour + time.Minute)
		synctest.Wait()
		require.Len(t, b.chat.texts("owner"), 1)
	})
}

// A job is over after a number of times, also after a restart and once its history is gone.
func TestJobEndsAfterANumber(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := hourly("water", "ann")
		j.EndsAfter, j.Plan = 2, "two"
		b := newBundle(t, doing(j))
		pass(4 * time.Hour)
		b.restart()
		pass(4 * time.Hour)
		synctest.Wait()
		require.Len(t, b.chat.texts("ann"), 2)
		open := b.openTriggers()
		require.Len(t, open, 1)
		require.Equal(t, []any{"cron/water/over", 2}, []any{open[0].Key, open[0].Count})

		j.EndsAfter, j.Plan = 3, "three"
		b.JobSource().Configure([]job.Job{j}, nil)
		pass(4 * time.Hour)
		synctest.Wait()
		require.Len(t, b.chat.texts("ann"), 3)
	})
}

// A job that is planned again goes on with its number of times, also while its instant before is still open.
func TestJobKeepsItsNumber(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := slow(job.OverlapSkip)
		j.EndsAfter, j.Plan = 2, "two"
		b := newBundle(t, doing(j))
		b.lasting(20 * time.Minute)
		pass(time.Hour + time.Minute)
		synctest.Wait()
		j.Schedule.Every, j.Plan = 5*time.Minute, "faster"
		b.JobSource().Configure([]job.Job{j}, nil)
		pass(15 * time.Minute)
		synctest.Wait()
		require.Equal(t, []ledger.TriggerStatus{"withdrawn", "skipped", "skipped", "skipped"}, b.fired("slow"))
		pass(3 * time.Hour)
		synctest.Wait()
		require.Len(t, b.chat.texts("ann"), 2)
	})
}

// A job is over at a time.
func TestJobEndsAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := hourly("water", "ann")
		j.EndsAt = time.Date(2000, 1, 1, 3, 0, 0, 0, time.UTC)
		b := newBundle(t, doing(j))
		pass(5 * time.Hour)
		synctest.Wait()
		require.Len(t, b.chat.texts("ann"), 2)
		require.Empty(t, b.openTriggers())
	})
}

// However the process dies, a queued instant runs once, and so does each repetition.
func TestDeathsRepeatAndQueueOnce(t *testing.T) {
	t.Parallel()
	j := slow(job.OverlapQueue)
	j.Retry = job.Retry{Max: 2, Backoff: 30 * time.Second}
	var err error
	j.Schedule.Every = 0
	j.Schedule.Cron, err = cron.Parse("2,4 * * * *")
	require.NoError(t, err)
	everyDeath(t, []func(*bundle){doing(j)}, func(t *testing.T, b *bundle) {
		healthy := time.Date(2000, 1, 1, 0, 3, 0, 0, time.UTC)
		b.agent.answers(func(ctx context.Context, _ string, _ func(sessions.Event)) (string, error) {
			if b.now().Before(healthy) {
				return "", context.Canceled
			}
			return "done", pause.Wait(ctx, 2*time.Minute)
		})
		for range 20 {
			pass(time.Minute)
			b.revive()
		}
		require.Equal(t, []ledger.TriggerStatus{"ok", "ok"}, b.fired("slow"))
		require.Equal(t, []string{"done", "done"}, b.chat.texts("ann"))
	})
}
