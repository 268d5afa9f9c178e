package router_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/internal/cron"
	"sluice/router/job"
	"sluice/router/ledger"
	"sluice/sessions"
)

// A run of somebody else in the session of a job makes the job skip an instant, which does not count as one of its times.
func TestInstantSkippedForAnotherRunDoesNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := slow(job.OverlapSkip)
		j.EndsAfter, j.Plan = 2, "two"
		b := newBundle(t, doing(j))
		b.lasting(time.Minute)
		pass(time.Hour + 5*time.Minute)
		require.Len(t, b.runsOf("cron:slow"), 1)
		b.lasting(100 * time.Minute)
		run := b.runsOf("cron:slow")[0]
		run.ID, run.Kind, run.EventKey, run.Status, run.Accepted = sessions.NewRunID(), sessions.KindMessage, "somebody", sessions.RunQueued, b.now()
		run.Attempts, run.Epoch, run.Finished, run.Started, run.Reply = 0, 0, time.Time{}, time.Time{}, ""
		require.NoError(t, b.Owner().Commit(t.Context(), ledger.Change{Change: sessions.Change{Enqueue: []sessions.Run{run}}}))
		pass(time.Hour)
		require.Equal(t, []ledger.TriggerStatus{"ok", "skipped"}, b.fired("slow"))
		b.lasting(time.Minute)
		pass(4 * time.Hour)
		require.Equal(t, []ledger.TriggerStatus{"ok", "skipped", "ok"}, b.fired("slow"), "twice, as asked for")
	})
}

// Who stops a session ends the instants whose runs wait in it, at once.
func TestStoppedInstantEndsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := slow(job.OverlapSkip)
		j.ID, j.Session = "brief", job.Main
		b := newBundle(t, doing(j))
		b.lasting(time.Minute)
		pass(time.Hour + 2*time.Minute)
		b.lasting(2 * time.Hour)
		run := b.runsOf("agent:main:main")[0]
		run.ID, run.Kind, run.EventKey, run.Status, run.Accepted = sessions.NewRunID(), sessions.KindMessage, "somebody", sessions.RunQueued, b.now()
		run.Attempts, run.Epoch, run.Finished, run.Started, run.Reply = 0, 0, time.Time{}, time.Time{}, ""
		require.NoError(t, b.Owner().Commit(t.Context(), ledger.Change{Change: sessions.Change{Enqueue: []sessions.Run{run}}}))
		pass(time.Hour - time.Minute)
		require.Equal(t, []ledger.TriggerStatus{"ok"}, b.fired("brief"), "the second one waits")
		change, err := b.Sessions.Stop(t.Context(), run.Session)
		require.NoError(t, err)
		require.NoError(t, b.Owner().Commit(t.Context(), change))
		pass(time.Second)
		require.Equal(t, []ledger.TriggerStatus{"ok", "failed"}, b.fired("brief"))
	})
}

// An instant that was withdrawn after its run had begun, and is stored once more, is fired once more.
func TestWithdrawnInstantIsStoredAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := prompting("brief", "what is new?", "ann")
		j.Session, j.Schedule = job.Main, cron.Schedule{At: time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC)}
		j.Retry = job.Retry{Max: 1, Backoff: 10 * time.Minute}
		b := newBundle(t, doing(j))
		b.agent.answers(func(context.Context, string, func(sessions.Event)) (string, error) {
			return "", context.DeadlineExceeded
		})
		pass(time.Hour + time.Minute)
		require.Len(t, b.runsOf("agent:main:main"), 1)
		_, err := b.Jobs.Pause(t.Context(), "brief", theOwner())
		require.NoError(t, err)
		require.Equal(t, []ledger.TriggerStatus{"withdrawn"}, b.fired("brief"))
		b.agent.answers(func(context.Context, string, func(sessions.Event)) (string, error) { return "news", nil })
		require.NoError(t, b.Owner().Commit(t.Context(), ledger.Change{Jobs: []ledger.Job{b.resumed("brief")}}))
		b.JobSource().Configure([]job.Job{j}, nil)
		pass(2 * time.Minute)
		require.Equal(t, []ledger.TriggerStatus{"ok"}, b.fired("brief"))
		require.Len(t, b.runsOf("agent:main:main"), 2)
		require.Equal(t, []string{"news"}, b.chat.texts("ann"))
	})
}

// resumed is the row of a job of the file whose pause ends.
func (b *bundle) resumed(id string) ledger.Job {
	b.t.Helper()
	row, err := b.store.Job(context.Background(), ledger.JobOfFile, id)
	require.NoError(b.t, err)
	row.Revision, row.Paused, row.Gone = row.Revision+1, false, true
	return row
}

// A fallback needs the text. If the run is no longer stored, the instant ends as undelivered.
func TestFallbackWithoutAText(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := prompting("brief", "what is new?", "ann")
		j.Deliver.Fallback = []ledger.TriggerTarget{{Name: "bob", Channel: "test", To: "bob"}}
		b := newBundle(t, doing(j))
		b.chat.fails(func(out adapters.Outbound, _ int) error {
			if out.Route.Conversation == "ann" {
				return &adapters.Failure{Kind: adapters.Transient, Certain: true, Err: t.Context().Err()}
			}
			return nil
		})
		pass(time.Hour + time.Minute)
		open := b.openTriggers()
		i := 0
		for open[i].Status != ledger.TriggerDelivering {
			i++
		}
		lost := open[i]
		lost.Revision, lost.Run = lost.Revision+1, "run_pruned"
		require.NoError(t, b.Owner().Commit(t.Context(), ledger.Change{Triggers: []ledger.Trigger{lost}}))
		pass(15 * time.Minute)
		require.Equal(t, []ledger.TriggerStatus{"undelivered"}, b.fired("brief"))
		require.Empty(t, b.chat.texts("bob"))
		require.Contains(t, b.chat.texts("owner")[0], "no receipt within 10m0s; its text is no longer stored, so no fallback is tried")
	})
}
