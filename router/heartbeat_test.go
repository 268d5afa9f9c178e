package router_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/pause"
	"sluice/router/job"
	"sluice/router/jobs"
	"sluice/router/ledger"
	"sluice/sessions"
)

// beating is the heartbeat of the agent main, which tells a person, with its instructions.
func beating(instructions string, checks ...string) func(*bundle) {
	return func(b *bundle) {
		beat := job.Heartbeat("main", 30*time.Minute, job.Hours{})
		beat.Checks = checks
		beat.Deliver = ledger.TriggerDelivery{To: []ledger.TriggerTarget{{Name: "ann", Channel: "test", To: "ann"}}, Changed: true, ChangedFor: job.SameFor}
		b.jobs, b.instructions = []job.Job{beat}, func(string) (string, error) { return instructions, nil }
		if b.watched == nil {
			b.watched = &watched{}
		}
	}
}

// counting counts the runs that an agent works, and gives an answer that can be changed.
func (b *bundle) counting(first string) (runs *atomic.Int64, say *atomic.Value) {
	runs, say = &atomic.Int64{}, &atomic.Value{}
	say.Store(first)
	b.agent.answers(func(context.Context, string, func(sessions.Event)) (string, error) {
		runs.Add(1)
		return say.Load().(string), nil
	})
	return runs, say
}

// While nothing happens, a month of heartbeats asks no agent and leaves no records.
func TestIdleHeartbeatsCostNothing(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]func(*bundle){
		"with a check":                   beating("- look at the mail", "n"),
		"with a file without an entry":   beating("# Heartbeat\n\n<!-- one line for each thing\n- mail -->\n-\n- [ ]\n"),
		"with a check that has no value": func(b *bundle) { beating("", "n")(b); b.watched.broken.Store(true) },
		"with a file that can't be read": func(b *bundle) {
			beating("")(b)
			b.instructions = func(string) (string, error) { return "look", errors.New("is a FIFO") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t, options)
				runs, _ := b.counting("news")
				days := 3
				if name == "with a check" {
					days = 30
				}
				pass(time.Duration(days) * 24 * time.Hour)
				require.Zero(t, runs.Load(), "calls of the model")
				require.Empty(t, b.chat.texts("ann"))
				require.Len(t, b.allRows("heartbeat:main"), 1)
				rows := b.allRows("heartbeat:main")
				require.WithinDuration(t, time.Now(), rows[0].Due, 30*time.Minute, "it still beats")
			})
		})
	}
}

// A heartbeat asks about its instructions, says nothing if there is nothing, and the same text once a day.
func TestHeartbeatSpeaks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, beating("- look at the mail"))
		runs, say := b.counting(sessions.HeartbeatOK)
		pass(2*time.Hour + time.Minute)
		require.EqualValues(t, 4, runs.Load())
		require.Empty(t, b.chat.texts("ann"))
		worked := b.runsOf("cron:heartbeat:main")
		require.Len(t, worked, 4)
		require.NotEqual(t, worked[0].Session, worked[1].Session, "in an empty session each time")
		require.Contains(t, worked[0].Input.Text, "answer exactly HEARTBEAT_OK")
		require.Contains(t, worked[0].Input.Text, "Instructions of HEARTBEAT.md:\n\n- look at the mail")
		say.Store("The boss has written.")
		pass(24 * time.Hour)
		require.Equal(t, []string{"The boss has written."}, b.chat.texts("ann"))
		pass(time.Hour)
		require.Len(t, b.chat.texts("ann"), 2, "it is said again after a day")
		say.Store("Again.")
		pass(time.Hour)
		require.Len(t, b.chat.texts("ann"), 3)
	})
}

// With checks, a heartbeat asks when one of them has news; a session with other work is left alone, and the news waits.
func TestHeartbeatOfNews(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, beating("", "n"), func(b *bundle) { b.jobs[0].Session = job.Main })
		answer := func(_ context.Context, text string, _ func(sessions.Event)) (string, error) { return "five!", nil }
		b.agent.answers(answer)
		pass(time.Hour)
		working := prompting("rival", "work", "bob")
		working.Session, working.Timeout = job.Main, 3*time.Hour
		b.JobSource().Configure(append(b.jobs, working), nil)
		b.agent.answers(func(ctx context.Context, text string, _ func(sessions.Event)) (string, error) {
			return "worked", pause.Wait(ctx, 90*time.Minute)
		})
		pass(time.Hour + time.Minute)
		b.watched.number.Store(5)
		b.agent.answers(answer)
		b.JobSource().Configure(b.jobs, nil)
		pass(time.Hour)
		require.Len(t, b.runsOf("agent:main:main"), 1, "the session is busy")
		pass(2 * time.Hour)
		runs := b.runsOf("agent:main:main")
		require.Len(t, runs, 2)
		require.Equal(t, "5\n(before: 0)", runs[1].Input.Quotations[0].Text)
		require.Equal(t, []string{"five!"}, b.chat.texts("ann"))
	})
}

// After downtime a heartbeat looks once.
func TestHeartbeatAfterDowntime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, beating("- look at the mail"))
		runs, _ := b.counting(sessions.HeartbeatOK)
		pass(time.Minute)
		b.stop()
		pass(50*time.Hour + 10*time.Minute)
		b.start()
		pass(time.Minute)
		require.EqualValues(t, 1, runs.Load())
		require.Equal(t, []ledger.TriggerStatus{"ok"}, b.fired("heartbeat:main"))
	})
}

// A heartbeat whose times are never within its active hours is faulty.
func TestHeartbeatThatNeverLooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, beating("", "n"), func(b *bundle) {
			hours, err := job.ParseHours("08:00-08:30", time.UTC)
			require.NoError(t, err)
			b.jobs[0].Hours, b.jobs[0].Schedule.Every, b.jobs[0].When = hours, 24*time.Hour, "every 24h, 08:00-08:30 UTC"
		})
		pass(time.Minute)
		beat, err := b.Jobs.Get(t.Context(), "heartbeat:main")
		require.NoError(t, err)
		require.Equal(t, jobs.StateFaulty, beat.State())
		require.Equal(t, "its times are never within its active hours (every 24h, 08:00-08:30 UTC): change activeHours or every", beat.Fault)
		require.Zero(t, beat.Next)
		_, err = b.leave(textFor("w1", "log"))
		require.ErrorContains(t, err, beat.Fault+", or use the mode now", "the text would wait for ever")
	})
}

// Outside its hours a heartbeat does nothing, and afterwards it tells what has happened.
func TestHeartbeatHours(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, beating("", "n"), func(b *bundle) {
			hours, err := job.ParseHours("08:00-22:00", time.FixedZone("", 3600))
			require.NoError(t, err)
			b.jobs[0].Hours = hours
		})
		runs, _ := b.counting("news")
		pass(30 * time.Minute) // 1:30 there
		beat, err := b.Jobs.Get(t.Context(), "heartbeat:main")
		require.NoError(t, err)
		require.Equal(t, "07:00", beat.Next.Format("15:04"))
		upcoming := beat.Upcoming(24*time.Hour, 100)
		require.Len(t, upcoming, 28)
		require.Equal(t, "20:30", upcoming[27].UTC().Format("15:04"))
		pass(8*time.Hour - 30*time.Minute)
		b.watched.number.Store(1)
		pass(12*time.Hour + 45*time.Minute) // 21:45 there
		require.EqualValues(t, 1, runs.Load())
		looks := b.watched.looks.Load()
		b.watched.number.Store(2)
		pass(10 * time.Hour) // 7:45 there
		require.EqualValues(t, 1, runs.Load())
		require.Equal(t, looks, b.watched.looks.Load(), "and does not even look")
		pass(30 * time.Minute)
		require.EqualValues(t, 2, runs.Load())
	})
}
