package router_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/config"
	"sluice/policy/flow"
	"sluice/router/job"
	"sluice/router/jobs"
	"sluice/router/ledger"
	"sluice/sessions"
)

// jobReader reads the jobs made at run time as the configuration does, but sends to people of the test platform.
type jobReader struct{ c *config.Config }

func (r jobReader) ReadJob(row ledger.Job) (job.Job, error) {
	job, err := r.c.ReadJob(row)
	for i, t := range job.Deliver.To {
		if t.Channel == "webchat" {
			job.Deliver.To[i].Channel = "test"
		}
	}
	return job, err
}

func withReader(b *bundle) {
	c := config.Default()
	c.Agents.List = []config.Agent{{ID: "main"}}
	b.reader = jobReader{c}
}

// theOwner makes jobs as an owner on the command line.
func theOwner() jobs.Maker {
	return jobs.Maker{Actor: "operator", Level: flow.Restricted, Label: flow.Bottom(), Owner: true}
}

// object is a job that says its id to a person.
func object(keys string) json.RawMessage {
	return json.RawMessage(`{"timezone":"UTC","deliver":{"to":["webchat:ann"]},` + keys + `}`)
}

func (b *bundle) history(id string) (all []string) {
	b.t.Helper()
	rows, err := b.Jobs.History(b.t.Context(), ledger.TriggerQuery{Subject: id, MaxLevel: flow.Restricted, Limit: 100})
	require.NoError(b.t, err)
	for _, t := range rows {
		all = append([]string{fmt.Sprint(t.Instant.Format("15:04:05"), " ", t.Status)}, all...)
	}
	return all
}

// pass lets time pass.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestJobMadeAtRunTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withReader)
		ctx := t.Context()
		j, err := b.Jobs.Add(ctx, "tea", object(`"every":"1h","text":"tea"`), theOwner())
		require.NoError(t, err)
		require.Equal(t, time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC), j.Next.UTC())
		_, err = b.Jobs.Add(ctx, "tea", object(`"every":"2h","text":"more"`), theOwner())
		require.EqualError(t, err, `job.id: "tea" is taken: choose another id, or change that job with sluice cron update`)
		pass(90 * time.Minute)
		require.Equal(t, []string{"tea"}, b.chat.texts("ann"))

		b.restart()
		pass(time.Hour)
		require.Equal(t, []string{"tea", "tea"}, b.chat.texts("ann"), "whoever takes over finds the job")

		_, err = b.Jobs.Update(ctx, "tea", map[string]json.RawMessage{"schedule": json.RawMessage(`"45 * * * *"`)}, theOwner())
		require.EqualError(t, err, "job: has 2 of schedule, every and at: want one")
		_, err = b.Jobs.Update(ctx, "tea", map[string]json.RawMessage{"every": json.RawMessage("null"), "schedule": json.RawMessage(`"45 * * * *"`), "text": json.RawMessage(`"coffee"`)}, theOwner())
		require.NoError(t, err)
		pass(16 * time.Minute)
		require.Equal(t, []string{"tea", "tea", "coffee"}, b.chat.texts("ann"))

		_, err = b.Jobs.Update(ctx, "tea", map[string]json.RawMessage{"text": json.RawMessage(`"water"`)}, theOwner())
		require.NoError(t, err)
		pass(time.Hour)
		require.Equal(t, "water", b.chat.texts("ann")[3], "a text alone leaves the times as they are")
		require.Equal(t, []string{"01:00:00 ok", "02:00:00 ok", "03:00:00 withdrawn", "02:45:00 ok", "03:45:00 ok", "04:45:00 waiting"}, b.history("tea"))

		require.NoError(t, b.Jobs.Remove(ctx, "tea", theOwner()))
		pass(3 * time.Hour)
		require.Len(t, b.chat.texts("ann"), 4)
		require.Empty(t, b.openTriggers())
		_, err = b.Jobs.Get(ctx, "tea")
		require.ErrorIs(t, err, sessions.ErrNotFound)
	})
}

// A job's next times are those that it will be fired at: none for a paused job.
func TestUpcomingTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withReader)
		for id, want := range map[string][]string{
			`"every":"36h","timezone":"UTC","text":"tea"`:                        {"2 12:00", "4 00:00", "5 12:00", "7 00:00", "8 12:00"}, // within seven days of the first
			`"schedule":"30 9 * * mon-fri","timezone":"Asia/Tokyo","text":"tea"`: {"3 09:30", "4 09:30"},                                  // at most two
			`"at":"2000-03-01T08:00:00Z","timezone":"UTC","text":"tea"`:          {"1 08:00"},
		} {
			limit := 50
			if strings.Contains(id, "Tokyo") {
				limit = 2
			}
			j, err := b.Jobs.Add(t.Context(), "tea", json.RawMessage(`{"deliver":{"to":["webchat:ann"]},`+id+`}`), theOwner())
			require.NoError(t, err)
			var got []string
			for _, at := range j.Upcoming(7*24*time.Hour, limit) {
				got = append(got, at.Format("2 15:04"))
			}
			require.Equal(t, want, got, id)
			j, err = b.Jobs.Pause(t.Context(), "tea", theOwner())
			require.NoError(t, err)
			require.Empty(t, j.Upcoming(7*24*time.Hour, limit))
			require.NoError(t, b.Jobs.Remove(t.Context(), "tea", theOwner()))
		}
	})
}

func TestPausedJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withReader, doing(hourly("water", "ann")))
		ctx := t.Context()
		synctest.Wait()
		_, err := b.Jobs.Add(ctx, "tea", object(`"every":"1h","text":"tea"`), theOwner())
		require.NoError(t, err)
		for _, id := range []string{"water", "tea"} {
			j, err := b.Jobs.Pause(ctx, id, theOwner())
			require.NoError(t, err)
			require.True(t, j.Paused())
			require.Zero(t, j.Next)
			_, err = b.Jobs.Pause(ctx, id, theOwner())
			require.NoError(t, err, "it is paused already")
		}
		pass(5 * time.Hour)
		b.restart()
		b.JobSource().Configure(b.jobs, b.reader)
		pass(5 * time.Hour)
		require.Empty(t, b.chat.texts("ann"), "over restarts and changes of the configuration")

		ran, err := b.Jobs.Run(ctx, "water", theOwner())
		require.NoError(t, err)
		pass(5 * time.Second)
		require.Equal(t, []string{"water is due"}, b.chat.texts("ann"), "by hand, also while it is paused")
		require.Equal(t, "cron/water/run/2000-01-01T10:00:00Z", ran.Key)
		for _, id := range []string{"water", "tea"} {
			j, err := b.Jobs.Resume(ctx, id, theOwner())
			require.NoError(t, err)
			require.False(t, j.Paused())
			require.Equal(t, "11:00:05", j.Next.UTC().Format(time.TimeOnly))
		}
		pass(time.Hour + 3*time.Second)
		require.ElementsMatch(t, []string{"water is due", "water is due", "tea"}, b.chat.texts("ann"))
		require.Equal(t, []string{"01:00:00 withdrawn", "10:00:00 ok", "11:00:05 ok", "12:00:05 waiting"}, b.history("water"), "nothing counts as missed")
		require.EqualError(t, b.Jobs.Remove(ctx, "water", theOwner()), "id: water is a job of sluice.yaml: change cron.jobs[0] there, or pause it")
	})
}

func TestJobsOfSessionsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withReader, doing(hourly("water", "ann")))
		ctx := t.Context()
		secret := flow.NewLabel(flow.Confidential, flow.Untrusted)
		agent := jobs.Maker{
			Actor: "agent:main", Level: flow.Confidential, Label: secret, Bounded: true, Session: "sess_1",
			Home: sessions.Route{Channel: "test", Account: "default", Conversation: "bob"},
		}
		add := func(keys string) error {
			_, err := b.Jobs.Add(ctx, "mine", json.RawMessage(`{"text":"x","timezone":"UTC",`+keys+`}`), agent)
			return err
		}
		require.EqualError(t, add(`"every":"10s"`), "job: is due every 10s; the smallest distance is 1m0s")
		require.EqualError(t, add(`"schedule":"0,30 0 7 * * *"`), "job: is due every 30s; the smallest distance is 1m0s")
		require.ErrorContains(t, add(`"every":"1h","deliver":{"to":["webchat:ann"]}`), "only an owner")
		require.ErrorContains(t, add(`"every":"1h","deliver":{"fallback":["webchat:ann"]}`), "only an owner")
		require.EqualError(t, add(`"at":"1999-01-01T00:00"`), "job.at: has passed: give a time in the future")
		require.EqualError(t, add(`"every":"1h","tetx":"y"`), "job.tetx: is not a key of job: did you mean text?")
		require.NoError(t, add(`"every":"1h","deliver":{"to":["owner"]}`))
		for range jobs.RecentMax - 1 {
			require.NoError(t, add(`"every":"1h"`))
		}
		require.ErrorContains(t, add(`"every":"1h"`), "wait")
		pass(10*time.Minute + time.Second)
		for range jobs.SessionMax - jobs.RecentMax {
			require.NoError(t, add(`"every":"24h"`))
		}
		require.ErrorContains(t, add(`"every":"1h"`), "this session has 20 jobs")

		found, more, err := b.Jobs.List(ctx, jobs.Page{MaxLevel: flow.Internal, Limit: 200})
		require.NoError(t, err)
		require.False(t, more)
		require.Len(t, found, 1, "those of the session are above the level")
		found, _, err = b.Jobs.List(ctx, jobs.Page{MaxLevel: flow.Restricted, Limit: 200})
		require.NoError(t, err)
		require.Len(t, found, 21)
		require.Equal(t, secret, found[0].Secrecy())
		require.Regexp(t, `^mine-[a-z2-7]{8}$`, found[0].ID)
		var paged []jobs.Job
		for page := (jobs.Page{MaxLevel: flow.Restricted, Limit: 2}); ; page.After = paged[len(paged)-1].ID {
			some, more, err := b.Jobs.List(ctx, page)
			require.NoError(t, err)
			if paged = append(paged, some...); !more {
				break
			}
		}
		require.Equal(t, found, paged)

		_, err = b.Jobs.Update(ctx, found[0].ID, map[string]json.RawMessage{"deliver": json.RawMessage(`{"to":["webchat:ann"]}`)}, theOwner())
		require.ErrorContains(t, err, "only an owner", "a job never gets more authority than it was made with")
		pass(time.Hour)
		rows, err := b.Jobs.History(ctx, ledger.TriggerQuery{Subject: found[0].ID, MaxLevel: flow.Internal})
		require.NoError(t, err)
		require.Empty(t, rows)
		require.NotEmpty(t, b.chat.texts("bob"))
	})
}

// A new text has its own label when it is sent, also if the job stays due at the same time. A program with a limited token changes and
// fires only what it has made.
func TestChangedJobKeepsItsLabels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withReader, doing(hourly("water", "ann")))
		synctest.Wait()
		ctx := t.Context()
		_, err := b.Jobs.Add(ctx, "tea", object(`"every":"1h","text":"tea"`), theOwner())
		require.NoError(t, err)
		secret := theOwner()
		secret.Label = flow.NewLabel(flow.Confidential, flow.Trusted)
		_, err = b.Jobs.Update(ctx, "tea", map[string]json.RawMessage{"text": json.RawMessage(`"the secret"`)}, secret)
		require.NoError(t, err)
		pass(time.Hour + 3*time.Second)
		rows, err := b.Jobs.History(ctx, ledger.TriggerQuery{Subject: "tea", MaxLevel: flow.Restricted, Limit: 100})
		require.NoError(t, err)
		require.Len(t, rows, 2)
		for _, row := range rows {
			require.Equal(t, secret.Label, row.Label, row.Status)
			require.Equal(t, secret.Label, row.Names, row.Status)
		}

		limited := jobs.Maker{Actor: "token:ci", Level: flow.Public, Label: flow.Bottom(), Owner: true, Bounded: true}
		mine, err := b.Jobs.Add(ctx, "mine", object(`"every":"1h","text":"x"`), limited)
		require.NoError(t, err)
		_, err = b.Jobs.Pause(ctx, mine.ID, limited)
		require.NoError(t, err)
		for what, do := range map[string]func(id string) error{
			"pause":  func(id string) error { _, err := b.Jobs.Pause(ctx, id, limited); return err },
			"resume": func(id string) error { _, err := b.Jobs.Resume(ctx, id, limited); return err },
			"run":    func(id string) error { _, err := b.Jobs.Run(ctx, id, limited); return err },
			"remove": func(id string) error { return b.Jobs.Remove(ctx, id, limited) },
			"update": func(id string) error { _, err := b.Jobs.Update(ctx, id, nil, limited); return err },
		} {
			for _, id := range []string{"water", "tea"} {
				require.EqualError(t, do(id), "id: only an owner, or who has made this job, may change, pause or fire it", "%s %s", what, id)
			}
		}
		require.NoError(t, b.Jobs.Remove(ctx, mine.ID, limited))
	})
}
