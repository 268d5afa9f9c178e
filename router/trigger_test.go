package router_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/internal/cron"
	"sluice/internal/pause"
	"sluice/policy/flow"
	"sluice/router/job"
	"sluice/router/ledger"
	"sluice/sessions"
)

// hourly is a job that says a text to a person of the test platform every hour.
func hourly(id, to string, fallback ...string) job.Job {
	j := job.Job{
		ID: id, Schedule: cron.Schedule{Every: time.Hour}, Plan: "hourly", Text: id + " is due", CatchUp: time.Hour,
		Deliver: ledger.TriggerDelivery{To: []ledger.TriggerTarget{{Name: to, Channel: "test", To: to}}, Within: 10 * time.Minute},
	}
	for _, f := range fallback {
		j.Deliver.Fallback = append(j.Deliver.Fallback, ledger.TriggerTarget{Name: f, Channel: "test", To: f})
	}
	return j
}

func doing(jobs ...job.Job) func(*bundle) { return func(b *bundle) { b.jobs = jobs } }

// fired are the triggers of a job that have ended, the oldest first.
func (b *bundle) fired(job string) (statuses []ledger.TriggerStatus) {
	b.t.Helper()
	ended, err := b.store.EndedTriggers(context.Background(), ledger.EndedTriggers{Source: ledger.TriggerCron, Subject: job, Limit: 100})
	require.NoError(b.t, err)
	for _, t := range ended {
		statuses = append([]ledger.TriggerStatus{t.Status}, statuses...)
	}
	return statuses
}

// openTriggers are the triggers of all jobs that have not ended.
func (b *bundle) openTriggers() (open []ledger.Trigger) {
	b.t.Helper()
	for p := range partitions {
		some, err := b.store.OpenTriggers(context.Background(), p, 100)
		require.NoError(b.t, err)
		open = append(open, some...)
	}
	return open
}

func TestJobIsDelivered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, doing(hourly("water", "ann"), job.Job{
			ID: "once", Schedule: cron.Schedule{At: time.Date(2000, 1, 1, 1, 30, 0, 0, time.UTC)}, Text: "the one time",
			Deliver: ledger.TriggerDelivery{To: []ledger.TriggerTarget{{Name: "owner", To: "owner"}}, Within: time.Minute},
		}))
		time.Sleep(3*time.Hour - time.Second)
		synctest.Wait()
		require.Equal(t, []string{"water is due", "water is due"}, b.chat.texts("ann"))
		require.Equal(t, []string{"the one time"}, b.chat.texts("owner"))
		time.Sleep(time.Second)
		synctest.Wait()
		require.Len(t, b.chat.texts("ann"), 3, "at the hour, not later")
		require.Equal(t, []ledger.TriggerStatus{"ok", "ok"}, b.fired("water"), "the last one waits for its receipt to be seen")
		require.Equal(t, 3, b.audited("cron.fired")-1)
		sent, err := b.store.ListAudit(t.Context(), ledger.AuditQuery{Action: "message.send", Actor: "job:water", MaxLevel: flow.Restricted, Limit: 10})
		require.NoError(t, err)
		require.Len(t, sent, 3, "each message says which job has sent it")
		first, err := b.store.Delivery(t.Context(), ledger.DeliveryID(sent[0].Object))
		require.NoError(t, err)
		require.Equal(t, "water is due", first.Text)

		b.restart()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.Len(t, b.chat.texts("ann"), 3)
		require.Equal(t, []ledger.TriggerStatus{"ok", "ok", "ok"}, b.fired("water"))
		require.Equal(t, []ledger.TriggerStatus{"ok"}, b.fired("once"))
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Len(t, b.chat.texts("ann"), 4, "distances go on from where they were")
		require.Len(t, b.chat.texts("owner"), 1)
		require.Len(t, b.openTriggers(), 1, "the single time has passed")
	})
}

// What passed while no gateway was running is fired once if it is young enough; the rest is listed.
func TestMissedInstants(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		strict := hourly("strict", "bob")
		strict.CatchUp = time.Minute
		b := newBundle(t, doing(hourly("water", "ann"), strict))
		time.Sleep(time.Minute)
		b.stop()
		time.Sleep(5*time.Hour + 30*time.Minute)
		b.start()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"water is due"}, b.chat.texts("ann"), "the latest of five")
		require.Empty(t, b.chat.texts("bob"))
		require.Equal(t, []ledger.TriggerStatus{"missed", "ok"}, b.fired("water"))
		require.Equal(t, []ledger.TriggerStatus{"missed"}, b.fired("strict"))
		ended, err := b.store.EndedTriggers(t.Context(), ledger.EndedTriggers{Source: ledger.TriggerCron, Subject: "strict", Limit: 1})
		require.NoError(t, err)
		require.Equal(t, 5, ended[0].Missed)
		for _, o := range b.openTriggers() {
			require.Equal(t, time.Date(2000, 1, 1, 6, 0, 0, 0, time.UTC), o.Instant, o.Subject)
		}
	})
}

// A job that is changed or removed does not fire as it was.
func TestJobsChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, doing(hourly("water", "ann"), hourly("gone", "ann"), hourly("back", "ann")))
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		slower := hourly("water", "ann")
		slower.Schedule.Every, slower.Plan = 2*time.Hour, "every two hours"
		b.JobSource().Configure([]job.Job{slower}, nil)
		synctest.Wait()
		require.Equal(t, []ledger.TriggerStatus{"withdrawn"}, b.fired("gone"))
		at := job.Job{ID: "back", Plan: "at", Schedule: cron.Schedule{At: time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC)}, Text: "back again", Deliver: slower.Deliver}
		b.JobSource().Configure([]job.Job{slower, at}, nil)
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, []string{"back again"}, b.chat.texts("ann"), "an instant that was withdrawn can be planned again")
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, []string{"back again", "water is due"}, b.chat.texts("ann"))
		time.Sleep(3 * time.Second)
		b.JobSource().Configure(nil, nil)
		synctest.Wait()
		require.Empty(t, b.openTriggers())
	})
}

// A target without a receipt is replaced by the next fallback. If none is left, the owner is told once.
func TestUndeliveredJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, doing(hourly("water", "ann", "bob"), hourly("lost", "eve", "ann")))
		b.chat.fails(func(out adapters.Outbound, _ int) error {
			if to := out.Route.Conversation; to == "ann" || to == "eve" {
				return &adapters.Failure{Kind: adapters.Permanent, Certain: true, Err: context.Canceled}
			}
			return nil
		})
		time.Sleep(3*time.Hour + 30*time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"water is due", "water is due", "water is due"}, b.chat.texts("bob"))
		require.Equal(t, []ledger.TriggerStatus{"ok", "ok", "ok"}, b.fired("water"))
		require.Equal(t, []ledger.TriggerStatus{"undelivered", "undelivered", "undelivered"}, b.fired("lost"))
		told := b.chat.texts("owner")
		require.Len(t, told, 1)
		require.Contains(t, told[0], "The job `lost` of 2000-01-01T01:00:00Z could not deliver its text:\n- to `eve`: the delivery is failed\n- to `ann`: the delivery is failed")
	})
}

// A message that waits for its platform is not lost: it counts as failed after the job's time.
func TestJobWithoutReceiptInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, doing(hourly("water", "ann", "bob")))
		b.chat.fails(func(out adapters.Outbound, _ int) error {
			if out.Route.Conversation == "ann" {
				return &adapters.Failure{Kind: adapters.Transient, Certain: true, Err: context.Canceled}
			}
			return nil
		})
		time.Sleep(time.Hour + 9*time.Minute)
		synctest.Wait()
		require.Empty(t, b.chat.texts("bob"))
		require.Contains(t, b.hear(in("owner", "1", "/cron history water")).Notice, "01:00:00 +00:00 delivering, to `ann` waiting")
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"water is due"}, b.chat.texts("bob"))
		require.Contains(t, b.hear(in("owner", "2", "/cron history water")).Notice, " ok, to `ann` replaced (`no receipt within 10m0s`), to `bob` sent")
	})
}

// However the process dies, each instant is fired once.
func TestDeathsFireAnInstantOnce(t *testing.T) {
	t.Parallel()
	job := hourly("water", "ann")
	everyHour, err := cron.Parse("0 * * * *")
	require.NoError(t, err)
	job.Schedule = cron.Schedule{Cron: everyHour}
	everyDeath(t, []func(*bundle){doing(job)}, func(t *testing.T, b *bundle) {
		for range 3 {
			time.Sleep(time.Hour - 3*time.Minute)
			b.revive()
			b.settle()
		}
		b.settle()
		ended, err := b.store.EndedTriggers(t.Context(), ledger.EndedTriggers{Source: ledger.TriggerCron, Subject: "water", Limit: 100})
		require.NoError(t, err)
		require.Len(t, ended, 3)
		for _, e := range ended {
			require.Len(t, e.Sends, 1)
		}
		require.Equal(t, []string{"water is due", "water is due", "water is due"}, b.chat.texts("ann"))
		require.Len(t, b.openTriggers(), 1)
	})
}

// Two replicas that both take themselves for the owner fire an instant once.
func TestReplicasFireAnInstantOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, doing(hourly("water", "ann")))
		synctest.Wait()
		rival := b.rival(t, b.chat)
		rival.JobSource().Configure(b.jobs, nil)
		time.Sleep(3*time.Hour + time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"water is due", "water is due", "water is due"}, b.chat.texts("ann"))
		require.Equal(t, []ledger.TriggerStatus{"ok", "ok", "ok"}, b.fired("water"))
		require.Len(t, b.openTriggers(), 1)
	})
}

// A row that a replica with another configuration has stored does not fire.
func TestRowOfAnotherScheduleIsWithdrawn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, doing(hourly("water", "ann")))
		synctest.Wait()
		foreign := b.openTriggers()[0]
		foreign.Key, foreign.Plan, foreign.Due = "cron/water/2000-01-01T00:30:00Z", "every half hour", foreign.Due.Add(-30*time.Minute)
		require.NoError(t, b.Owner().Commit(t.Context(), ledger.Change{Triggers: []ledger.Trigger{foreign}}))
		time.Sleep(45 * time.Minute)
		synctest.Wait()
		require.Empty(t, b.chat.texts("ann"))
		require.Equal(t, []ledger.TriggerStatus{"withdrawn"}, b.fired("water"))
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		require.Len(t, b.chat.texts("ann"), 1)
	})
}

// storedInstants stores instants of a job as ended, as if a clock had been set back after them.
func (b *bundle) storedInstants(job string, from time.Time, n int) {
	b.t.Helper()
	var change ledger.Change
	for i := range n {
		instant := from.Add(time.Duration(i) * time.Hour)
		change.Triggers = append(change.Triggers, ledger.Trigger{
			Key: "cron/" + job + "/" + instant.Format(time.RFC3339), Revision: 1, Source: ledger.TriggerCron, Subject: job,
			Status: ledger.TriggerOK, Due: instant, Created: instant, Ended: instant, TriggerDetail: ledger.TriggerDetail{Instant: instant},
		})
	}
	require.NoError(b.t, b.Owner().Commit(b.t.Context(), change))
}

// An instant is fired although the next one has been fired before.
func TestInstantBeforeAStoredOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, doing(hourly("water", "ann")))
		synctest.Wait()
		b.storedInstants("water", time.Date(2000, 1, 1, 2, 0, 0, 0, time.UTC), 1)
		time.Sleep(time.Hour + time.Minute)
		synctest.Wait()
		require.Len(t, b.chat.texts("ann"), 1)
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Len(t, b.chat.texts("ann"), 1)
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Len(t, b.chat.texts("ann"), 2)
	})
}

// However many instants of a job are stored, it goes on after them, and the other jobs do not wait for it.
func TestJobAfterManyStoredInstants(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		synctest.Wait()
		begin := time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC)
		b.storedInstants("water", begin, 1100)
		b.JobSource().Configure([]job.Job{hourly("water", "ann")}, nil)
		synctest.Wait()
		open := b.openTriggers()
		require.Len(t, open, 1)
		require.True(t, open[0].Instant.After(begin.Add(1099*time.Hour)), open[0].Instant)
	})
}

// prompting is a job that asks an agent every hour and tells a person what it says.
func prompting(id, prompt, to string) job.Job {
	j := hourly(id, to)
	j.Text, j.Prompt, j.Owner = "", prompt, true
	return j
}

// runsOf are the runs of a session key, the oldest first.
func (b *bundle) runsOf(key sessions.Key) (runs []sessions.Run) {
	b.t.Helper()
	all, err := b.store.ListRuns(context.Background(), ledger.Query{MaxLevel: flow.Restricted, Limit: 200})
	require.NoError(b.t, err)
	for _, r := range slices.Backward(all) {
		record, err := b.store.Session(context.Background(), r.Session)
		require.NoError(b.t, err)
		if record.Key == key {
			runs = append(runs, r)
		}
	}
	return runs
}

// An agent works on a job's prompt in an empty session, and its reply is delivered.
func TestJobAsksItsAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, doing(prompting("brief", "what is new?", "ann")))
		time.Sleep(2*time.Hour + time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"echo: what is new?", "echo: what is new?"}, b.chat.texts("ann"))
		require.Equal(t, []ledger.TriggerStatus{"ok", "ok"}, b.fired("brief"))
		runs := b.runsOf("cron:brief")
		require.Len(t, runs, 2)
		require.NotEqual(t, runs[0].Session, runs[1].Session, "the transcript is empty each time")
		require.Equal(t, []any{sessions.KindTrigger, true, "cron/brief/2000-01-01T01:00:00Z"}, []any{runs[0].Kind, runs[0].Input.Owner, runs[0].EventKey})
		ended, err := b.store.EndedTriggers(t.Context(), ledger.EndedTriggers{Source: ledger.TriggerCron, Subject: "brief", Limit: 1})
		require.NoError(t, err)
		require.Equal(t, runs[1].ID, ended[0].Run)
		d, err := b.store.Delivery(t.Context(), ended[0].Sends[0].Delivery)
		require.NoError(t, err)
		require.Equal(t, runs[1].Session, d.Session)
	})
}

// A job can go on in one session.
func TestJobInASessionOfItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := prompting("brief", "what is new?", "ann")
		j.Session = job.Main
		b := newBundle(t, doing(j))
		time.Sleep(2*time.Hour + time.Minute)
		synctest.Wait()
		runs := b.runsOf("agent:main:main")
		require.Len(t, runs, 2)
		require.Equal(t, runs[0].Session, runs[1].Session)
		require.Len(t, b.chat.texts("ann"), 2)
	})
}

// A silent reply is delivered nowhere; a failed run is told to the owner once.
func TestJobsWithoutAReply(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, doing(prompting("quiet", "NO_REPLY", "ann"), prompting("broken", "fail", "ann")))
		b.agent.answers(func(_ context.Context, text string, _ func(sessions.Event)) (string, error) {
			if text == "fail" {
				return "", &sessions.WorkError{Status: sessions.RunFailed, Public: "the model is away", Err: context.Canceled}
			}
			return "NO_REPLY", nil
		})
		time.Sleep(2*time.Hour + time.Minute)
		synctest.Wait()
		require.Empty(t, b.chat.texts("ann"))
		require.Equal(t, []ledger.TriggerStatus{"ok", "ok"}, b.fired("quiet"))
		require.Equal(t, []ledger.TriggerStatus{"failed", "failed"}, b.fired("broken"))
		told := b.chat.texts("owner")
		require.Len(t, told, 1)
		require.Contains(t, told[0], "The job `broken` of 2000-01-01T01:00:00Z has failed: run `run_")
	})
}

// A job whose run takes longer than its distance skips the instants in between.
func TestJobSkipsWhileItRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := prompting("slow", "think", "ann")
		slow.Timeout = 2 * time.Hour
		b := newBundle(t, doing(slow))
		b.agent.answers(func(ctx context.Context, _ string, _ func(sessions.Event)) (string, error) {
			return "done", pause.Wait(ctx, 90*time.Minute)
		})
		time.Sleep(3*time.Hour + 30*time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"done"}, b.chat.texts("ann"))
		require.Equal(t, []ledger.TriggerStatus{"skipped", "ok"}, b.fired("slow"))
	})
}

// Only a text that differs from the last one that arrived is delivered.
func TestUnchangedTextIsNotRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := hourly("water", "ann")
		j.Deliver.Changed = true
		b := newBundle(t, doing(j))
		time.Sleep(3*time.Hour + time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"water is due"}, b.chat.texts("ann"))
		require.Equal(t, []ledger.TriggerStatus{"ok", "ok", "ok"}, b.fired("water"))
		other := j
		other.Text = "water again"
		b.JobSource().Configure([]job.Job{other}, nil)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		require.Equal(t, []string{"water is due", "water again"}, b.chat.texts("ann"))
	})
}

// However the process dies, each instant has one run, and its reply is delivered once.
func TestDeathsRunAJobOnce(t *testing.T) {
	t.Parallel()
	job := prompting("brief", "what is new?", "ann")
	everyHour, err := cron.Parse("0 * * * *")
	require.NoError(t, err)
	job.Schedule = cron.Schedule{Cron: everyHour}
	everyDeath(t, []func(*bundle){doing(job)}, func(t *testing.T, b *bundle) {
		for range 2 {
			time.Sleep(time.Hour - 3*time.Minute)
			b.revive()
			b.settle()
		}
		b.settle()
		require.Equal(t, []ledger.TriggerStatus{"ok", "ok"}, b.fired("brief"))
		require.Len(t, b.runsOf("cron:brief"), 2)
		require.Equal(t, []string{"echo: what is new?", "echo: what is new?"}, b.chat.texts("ann"))
	})
}
