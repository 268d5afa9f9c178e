package router_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/internal/check"
	"sluice/internal/cron"
	"sluice/internal/pause"
	"sluice/policy/flow"
	"sluice/router/checks"
	"sluice/router/job"
	"sluice/router/ledger"
	"sluice/sessions"
)

// watched is a number that the check "n" looks at, at the level CONFIDENTIAL.
type watched struct {
	when   string // of the check
	number atomic.Int64
	broken atomic.Bool
	looks  atomic.Int64
	slow   time.Duration // what a look takes
}

// begin makes the checks of a process.
func (w *watched) begin(b *bundle) *checks.Checks {
	k, err := check.New(check.Definition{Name: "n", Gateway: check.DeadLetters, Every: time.Second, When: w.when, Label: flow.NewLabel(flow.Confidential, flow.Untrusted)})
	require.NoError(b.t, err)
	all := checks.New(checks.Config{
		Store: b.routerStore(), Commit: b.Owner().Commit, Notice: b.SendPermissions().Notice, Now: b.now, Log: slog.New(slog.DiscardHandler),
		Looks: checks.NewMetrics(prometheus.NewRegistry()), Owner: func(context.Context) (sessions.Route, error) { return in("owner", "1", "").Route, nil },
		Ways: check.Ways{Count: func(ctx context.Context, _ string) (int, error) {
			w.looks.Add(1)
			if w.broken.Load() {
				return 0, errors.New("out of order")
			}
			return int(w.number.Load()), pause.Wait(ctx, w.slow)
		}},
	})
	all.Configure([]*check.Check{k})
	return all
}

// watching lets jobs watch the check "n", every hour.
func watching(w *watched, jobs ...job.Job) func(*bundle) {
	for i := range jobs {
		jobs[i].Checks = []string{"n"}
	}
	return func(b *bundle) { b.watched, b.jobs, b.gate.level = w, jobs, flow.Confidential }
}

// allRows are all triggers of a job.
func (b *bundle) allRows(job string) []ledger.Trigger {
	b.t.Helper()
	rows, err := b.store.ListTriggers(context.Background(), ledger.TriggerQuery{Source: ledger.TriggerCron, Subject: job, MaxLevel: flow.Restricted, Limit: 200})
	require.NoError(b.t, err)
	return rows
}

// A job with a check says something only when the value changes, over restarts, and leaves no records of the other times.
func TestJobTellsOfChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, found := &watched{}, hourly("found", "bob")
		found.Text = ""
		b := newBundle(t, withReader, watching(w, hourly("water", "ann"), found))
		pass(10*time.Hour + time.Minute)
		require.Empty(t, b.chat.texts("ann"), "the first value is not news")
		require.Len(t, b.allRows("water"), 1, "times without news leave no records")
		w.number.Store(1)
		pass(time.Hour)
		require.Equal(t, []string{"water is due"}, b.chat.texts("ann"))
		require.Equal(t, []string{"The check `n` finds `1`; before: `0`"}, b.chat.texts("bob"))
		b.restart()
		b.JobSource().Configure(b.jobs, b.reader)
		pass(5 * time.Hour)
		require.Len(t, b.chat.texts("ann"), 1, "the same value is told once")
		_, err := b.Jobs.Pause(t.Context(), "water", theOwner())
		require.NoError(t, err)
		w.number.Store(0)
		pass(2 * time.Hour)
		_, err = b.Jobs.Resume(t.Context(), "water", theOwner())
		require.NoError(t, err)
		pass(2 * time.Hour)
		require.Len(t, b.chat.texts("ann"), 2, "what has changed during the pause")
		w.broken.Store(true)
		pass(3 * time.Hour)
		w.broken.Store(false)
		pass(2 * time.Hour)
		require.Len(t, b.chat.texts("ann"), 2, "a look that fails is no news, and neither is the same value after it")
		later := hourly("later", "eve")
		later.Checks = []string{"n"}
		b.JobSource().Configure(append(b.jobs, later), b.reader)
		pass(2 * time.Hour)
		require.Empty(t, b.chat.texts("eve"), "older changes are not news for it")
		require.Len(t, b.allRows("water"), 4, "two that were fired, one that the pause has withdrawn")
		for _, row := range b.allRows("water") {
			if row.Status != ledger.TriggerOK {
				continue
			}
			require.Equal(t, flow.Confidential, row.Label.Level())
			d, err := b.store.Delivery(t.Context(), row.Sends[0].Delivery)
			require.NoError(t, err)
			require.Equal(t, flow.NewLabel(flow.Confidential, flow.Untrusted), d.Label, "that it changed is as secret as the value")
		}
	})
}

// The agent gets what the check found as other people's words, at the check's level.
func TestAgentIsAskedAboutNews(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &watched{when: "value > 2"}
		b := newBundle(t, watching(w, prompting("brief", "what now?", "ann")))
		pass(3*time.Hour + time.Minute)
		require.Empty(t, b.runsOf("cron:brief"))
		w.number.Store(3)
		pass(3 * time.Hour)
		runs := b.runsOf("cron:brief")
		require.Len(t, runs, 1)
		require.Equal(t, []sessions.Quotation{{Kind: sessions.QuoteCheck, From: sessions.Peer{Name: "n"}, Text: "3\n(before: 0)"}}, runs[0].Input.Quotations)
		require.Equal(t, flow.NewLabel(flow.Confidential, flow.Untrusted), runs[0].Label)
		require.Len(t, b.chat.texts("ann"), 1)
	})
}

// A value that is bad from the start is news for each job that looks at it for the first time.
func TestFirstLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &watched{when: "value > 2"}
		w.number.Store(3)
		b := newBundle(t, watching(w, hourly("water", "ann")))
		pass(3*time.Hour + time.Minute)
		require.Len(t, b.chat.texts("ann"), 1)
		later := hourly("later", "bob")
		later.Checks = []string{"n"}
		b.JobSource().Configure(append(b.jobs, later), nil)
		pass(3 * time.Hour)
		require.Len(t, b.chat.texts("ann"), 1)
		require.Len(t, b.chat.texts("bob"), 1)
	})
}

// News that comes while the session is busy is told afterwards, whoever works there.
func TestNewsWaitForABusySession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, slow := &watched{}, prompting("slow", "think", "ann")
		slow.Timeout = 3 * time.Hour
		b := newBundle(t, watching(w, slow))
		b.agent.answers(func(ctx context.Context, _ string, _ func(sessions.Event)) (string, error) {
			return "done", pause.Wait(ctx, 150*time.Minute)
		})
		pass(90 * time.Minute)
		w.number.Store(1)
		pass(time.Hour) // 2:30; it works from 2:00 to 4:30
		w.number.Store(2)
		pass(2*time.Hour + 15*time.Minute) // 4:45
		require.Equal(t, []string{"done"}, b.chat.texts("ann"))
		require.Len(t, b.runsOf("cron:slow"), 1)
		pass(3 * time.Hour)
		require.Equal(t, []string{"done", "done"}, b.chat.texts("ann"))
		require.Len(t, b.allRows("slow"), 3, "and what passed left no record")
	})
}

// In a session where somebody else's run works, news is not lost either.
func TestNewsWaitForSomebodyElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, asks := &watched{}, prompting("asks", "what?", "ann")
		rival := prompting("rival", "work", "bob")
		rival.Session, rival.Schedule, rival.Timeout = "cron:asks", cron.Schedule{At: time.Date(2000, 1, 1, 1, 30, 0, 0, time.UTC)}, 3*time.Hour
		b := newBundle(t, watching(w, asks), func(b *bundle) { b.jobs = append(b.jobs, rival) })
		b.agent.answers(func(ctx context.Context, text string, _ func(sessions.Event)) (string, error) {
			if text == "work" {
				return "worked", pause.Wait(ctx, time.Hour)
			}
			return "asked", nil
		})
		pass(90*time.Minute + time.Second)
		w.number.Store(1)
		pass(time.Hour - time.Minute)
		require.Empty(t, b.chat.texts("ann"), "the session is busy")
		pass(time.Hour)
		require.Equal(t, []string{"asked"}, b.chat.texts("ann"))
	})
}

// A slow look holds no other job up, and its news comes when it is there.
func TestSlowLooksHoldNothingUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &watched{slow: 20 * time.Second}
		slow := hourly("slow", "ann")
		slow.Schedule.Every = time.Second
		quick := hourly("water", "bob")
		for i := 0; job.Partition(quick.ID, partitions) != job.Partition(slow.ID, partitions); i++ {
			quick.ID = fmt.Sprint("water", i)
		}
		quick.Schedule.Every = time.Second
		b := newBundle(t, watching(w, slow), func(b *bundle) { b.jobs = append(b.jobs, quick) })
		pass(30 * time.Second)
		w.number.Store(1)
		pass(time.Minute)
		require.Len(t, b.chat.texts("ann"), 1)
		require.GreaterOrEqual(t, len(b.chat.texts("bob")), 88, "each second")
		require.LessOrEqual(t, w.looks.Load(), int64(6))
	})
}

// Fired by hand, a job says what the check finds, whether or not that is news.
func TestJobWithACheckByHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, found := &watched{}, hourly("found", "bob")
		found.Text = ""
		b := newBundle(t, watching(w, found))
		pass(time.Second)
		_, err := b.Jobs.Run(t.Context(), "found", theOwner())
		require.NoError(t, err)
		pass(5 * time.Second)
		require.Equal(t, []string{"The check `n` finds `0`"}, b.chat.texts("bob"))
	})
}

// However the process dies, a change is told once.
func TestDeathsTellAChangeOnce(t *testing.T) {
	t.Parallel()
	water := hourly("water", "ann")
	everyHour, err := cron.Parse("0 * * * *")
	require.NoError(t, err)
	water.Schedule = cron.Schedule{Cron: everyHour}
	everyDeath(t, []func(*bundle){func(b *bundle) { watching(&watched{}, water)(b) }}, func(t *testing.T, b *bundle) {
		for i := range 3 {
			if i == 1 {
				b.watched.number.Store(1)
			}
			time.Sleep(time.Hour - 3*time.Minute)
			b.revive()
			b.settle()
		}
		b.settle()
		require.Equal(t, []string{"water is due"}, b.chat.texts("ann"))
		require.Len(t, b.openTriggers(), 1)
	})
}
