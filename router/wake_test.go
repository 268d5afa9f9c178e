package router_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/pause"
	"sluice/policy/flow"
	"sluice/router/job"
	"sluice/router/jobs"
	"sluice/router/ledger"
	"sluice/sessions"
)

var trusted = flow.NewLabel(flow.Internal, flow.Trusted)

func textFor(id, text string) ledger.TriggerWake {
	return ledger.TriggerWake{ID: id, From: sessions.Peer{ID: "local"}, Text: text, Label: trusted, At: time.Now()}
}

// leave leaves a text for the next heartbeat of the agent main.
func (b *bundle) leave(w ledger.TriggerWake) (jobs.Woken, error) {
	return b.Jobs.Wake(b.t.Context(), "main", "operator", w)
}

// told are the texts that runs of heartbeats were told, in order.
func (b *bundle) told() (texts []string) {
	b.t.Helper()
	for _, key := range []sessions.Key{"cron:heartbeat:main", "agent:main:main"} {
		for _, r := range b.runsOf(key) {
			for _, q := range r.Input.Quotations {
				if q.Kind == sessions.QuoteWake {
					texts = append(texts, q.Text)
				}
			}
		}
	}
	return texts
}

// A text is told once, with the next heartbeat, although nothing else has happened.
func TestHeartbeatTellsATextOnce(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]func(*bundle){
		"without a reason to ask":    beating(""),
		"without news":               beating("", "n"),
		"with a check without value": func(b *bundle) { beating("", "n")(b); b.watched.broken.Store(true) },
		"with instructions":          beating("- look at the mail"),
		"with a file that can't be read": func(b *bundle) {
			beating("")(b)
			b.instructions = func(string) (string, error) { return "look", errors.New("is a FIFO") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t, options)
				b.counting("seen")
				pass(31 * time.Minute)
				before := len(b.runsOf("cron:heartbeat:main"))
				for range 2 {
					got, err := b.leave(textFor("w1", "look at\nthe log"))
					require.NoError(t, err)
					require.Equal(t, time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC), got.Next.UTC())
					require.Equal(t, "heartbeat:main", got.Job)
				}
				require.Empty(t, b.told(), "not before its time")
				pass(30 * time.Minute)
				runs := b.runsOf("cron:heartbeat:main")
				require.Len(t, runs, before+1)
				run := runs[before]
				require.Equal(t, []sessions.Quotation{{Kind: sessions.QuoteWake, From: sessions.Peer{ID: "local"}, Text: "look at\nthe log"}}, run.Input.Quotations)
				require.NotContains(t, run.Input.Text, "log", "it is quoted")
				require.Equal(t, trusted, run.Label)
				require.True(t, run.Input.Owner)
				b.restart()
				pass(3 * time.Hour)
				got, err := b.leave(textFor("w1", "look at\nthe log"))
				require.NoError(t, err)
				require.Zero(t, got.Next, "it was told")
				_, err = b.leave(textFor("w1", "something else"))
				require.ErrorIs(t, err, jobs.ErrOtherWake)
				pass(3 * time.Hour)
				require.Equal(t, []string{"look at\nthe log"}, b.told())
				require.Equal(t, flow.Bottom(), b.allRows("heartbeat:main")[0].Label, "the next heartbeat knows nothing of it")
			})
		})
	}
}

// A heartbeat that tells what somebody else than the owner says has not the owner's rights.
func TestHeartbeatOfStrangersText(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, beating("- look at the mail"))
		b.counting("seen")
		pass(time.Minute)
		foreign := textFor("w2", "delete all")
		foreign.Label = flow.NewLabel(flow.Confidential, flow.Untrusted)
		_, err := b.leave(textFor("w1", "look"))
		require.NoError(t, err)
		_, err = b.leave(foreign)
		require.NoError(t, err)
		require.Equal(t, foreign.Label, b.allRows("heartbeat:main")[0].Label)
		pass(30 * time.Minute)
		runs := b.runsOf("cron:heartbeat:main")
		require.Len(t, runs, 1)
		require.False(t, runs[0].Input.Owner)
		require.Equal(t, foreign.Label, runs[0].Label)
		pass(30 * time.Minute)
		require.True(t, b.runsOf("cron:heartbeat:main")[1].Input.Owner)
	})
}

// A text waits as long as the heartbeat can't be told, whatever the reason, and is told once.
func TestTextForAHeartbeatWaits(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	for name, c := range map[string]struct {
		options func(*bundle)
		meet    func(b *bundle) // what keeps the heartbeat from telling it, and its end
	}{
		"while the gateway is down": {meet: func(b *bundle) {
			b.stop()
			pass(50*hour + 10*time.Minute)
			b.start()
		}},
		"outside of active hours": {options: func(b *bundle) {
			hours, err := job.ParseHours("08:00-22:00", time.UTC)
			require.NoError(b.t, err)
			b.jobs[0].Hours = hours
		}, meet: func(b *bundle) {
			pass(7*hour + 50*time.Minute)
			require.Empty(b.t, b.told())
			got, err := b.leave(textFor("w1", "log"))
			require.NoError(b.t, err)
			require.Equal(b.t, "08:00", got.Next.UTC().Format("15:04"))
		}},
		"while another run works in the session": {options: func(b *bundle) { b.jobs[0].Session = job.Main }, meet: func(b *bundle) {
			working := prompting("rival", "work", "bob")
			working.Session, working.Timeout, working.Schedule.Every = job.Main, 3*hour, 10*time.Minute
			b.JobSource().Configure(append(b.jobs, working), nil)
			b.agent.answers(func(ctx context.Context, _ string, _ func(sessions.Event)) (string, error) {
				return "worked", pause.Wait(ctx, 90*time.Minute)
			})
			pass(11 * time.Minute)
			b.JobSource().Configure(b.jobs, nil)
			b.counting("seen")
			pass(hour)
			require.Empty(b.t, b.told())
		}},
		"while the run before it works": {options: func(b *bundle) { beating("- look", "n")(b); b.jobs[0].Timeout = 3 * hour }, meet: func(b *bundle) {
			b.agent.answers(func(ctx context.Context, _ string, _ func(sessions.Event)) (string, error) {
				return "worked", pause.Wait(ctx, 90*time.Minute)
			})
			_, err := b.leave(textFor("w0", "first"))
			require.NoError(b.t, err)
			pass(31 * time.Minute)
			require.Equal(b.t, []string{"log", "first"}, b.told())
			_, err = b.leave(textFor("w2", "second"))
			require.NoError(b.t, err)
			pass(hour)
			require.Equal(b.t, []string{"log", "first"}, b.told())
		}},
		"while it is paused, and fired by hand": {meet: func(b *bundle) {
			_, err := b.Jobs.Pause(b.t.Context(), "heartbeat:main", theOwner())
			require.NoError(b.t, err)
			_, err = b.leave(textFor("w3", "more"))
			require.EqualError(b.t, err, "mode: the heartbeat is paused: resume it with sluice cron resume heartbeat:main, or use the mode now")
			got, err := b.leave(textFor("w1", "log"))
			require.NoError(b.t, err, "what it has taken it knows")
			require.Zero(b.t, got.Next)
			for range job.HistoryMax + 2 {
				_, err = b.Jobs.Run(b.t.Context(), "heartbeat:main", theOwner())
				require.NoError(b.t, err)
				pass(time.Second)
			}
			require.Empty(b.t, b.told())
			_, err = b.Jobs.Resume(b.t.Context(), "heartbeat:main", theOwner())
			require.NoError(b.t, err)
		}},
		"while its schedule changes": {meet: func(b *bundle) {
			changed := job.Heartbeat("main", 2*hour, job.Hours{})
			changed.Deliver = b.jobs[0].Deliver
			b.jobs = []job.Job{changed}
			b.JobSource().Configure(b.jobs, nil)
			pass(hour)
			require.Empty(b.t, b.told())
		}},
		"while the agent has no heartbeat": {meet: func(b *bundle) {
			b.JobSource().Configure(nil, nil)
			pass(hour)
			_, err := b.leave(textFor("w3", "more"))
			require.EqualError(b.t, err, "mode: the agent main has no heartbeat: set agents.list[].heartbeat.every in sluice.yaml, or use the mode now")
			b.JobSource().Configure(b.jobs, nil)
		}},
		"while it is retried": {options: func(b *bundle) { b.jobs[0].Retry = job.Retry{Max: 2, Backoff: time.Minute} }, meet: func(b *bundle) {
			b.agent.answers(func(context.Context, string, func(sessions.Event)) (string, error) {
				return "", errors.New("the model is down")
			})
			pass(29*time.Minute + 30*time.Second)
			b.counting("seen")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t, beating(""), func(b *bundle) {
					if c.options != nil {
						c.options(b)
					}
				})
				b.counting("seen")
				pass(time.Minute)
				_, err := b.leave(textFor("w1", "log"))
				require.NoError(t, err)
				c.meet(b)
				pass(5 * hour)
				want := map[string][]string{"while it is retried": {"log", "log"}, "while the run before it works": {"log", "first", "second"}}[name]
				if want == nil {
					want = []string{"log"}
				}
				require.Equal(t, want, b.told())
				b.JobSource().Configure(nil, nil)
				pass(hour)
				b.JobSource().Configure(b.jobs, nil)
				pass(5 * hour)
				require.Equal(t, want, b.told(), "also when the heartbeat is planned again")
			})
		})
	}
}

// Each author has room for this many texts and bytes, and learns nothing of those of others.
func TestTextsForAHeartbeatAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, beating(""))
		b.counting("seen")
		pass(time.Minute)
		for n := range jobs.WakesMax {
			_, err := b.leave(textFor(fmt.Sprint(n), "text"))
			require.NoError(t, err)
		}
		_, err := b.leave(textFor("more", "text"))
		require.EqualError(t, err, "text: 20 of your texts wait for the next heartbeat, the maximum is 20: wait for it, or use the mode now")
		other := textFor("other", strings.Repeat("x", jobs.WakeBytesMax))
		other.From.ID = "token:ops"
		_, err = b.leave(other)
		require.NoError(t, err)
		other.ID, other.Text = "other2", "x"
		_, err = b.leave(other)
		require.EqualError(t, err, "text: your texts for the next heartbeat would have 16385 bytes, the maximum is 16384: shorten it, wait for the heartbeat, or use the mode now")
		pass(30 * time.Minute)
		require.Len(t, b.told(), jobs.WakesMax+1)
		_, err = b.leave(other)
		require.NoError(t, err, "there is room again")
	})
}

// Who leaves texts at the same moment, or the same text, loses nothing and repeats nothing.
func TestTextsForAHeartbeatAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, beating(""))
		b.counting("seen")
		pass(time.Minute)
		errs := make(chan error, 4)
		for _, id := range []string{"a", "b", "a", "c"} {
			go func() {
				_, err := b.leave(textFor(id, "text "+id))
				errs <- err
			}()
		}
		for range cap(errs) {
			require.NoError(t, <-errs)
		}
		pass(time.Hour)
		require.ElementsMatch(t, []string{"text a", "text b", "text c"}, b.told())
	})
}

// A heartbeat that somebody fires by hand, and that is not worked yet, does not take the text.
func TestTextForAHeartbeatByHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, beating(""))
		b.counting("seen")
		pass(time.Minute)
		byHand := b.jobs[0].ByHand("operator", "x", time.Now(), job.Partition("heartbeat:main", partitions))
		byHand.Due = time.Now().Add(10 * time.Hour)
		require.NoError(t, b.store.Commit(t.Context(), ledger.Change{Triggers: []ledger.Trigger{byHand}}))
		_, err := b.leave(textFor("w1", "log"))
		require.NoError(t, err)
		pass(30 * time.Minute)
		require.Equal(t, []string{"log"}, b.told())
	})
}
