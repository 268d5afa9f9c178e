package automation_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/config/automation"
	"sluice/internal/config/scalar"
	"sluice/internal/cron"
	"sluice/policy/flow"
	"sluice/router/job"
	"sluice/router/ledger"
)

// read reads jobs on a gateway that knows the channels test and other.
func read(c automation.Cron, targets automation.Targets) (all []job.Job, faults map[string]string) {
	faults = map[string]string{}
	return reader(c, targets, faults).Jobs(), faults
}

func reader(c automation.Cron, targets automation.Targets, faults map[string]string) automation.Reader {
	return automation.Reader{
		Cron: c, Targets: targets, Report: func(path, text string) { faults[path] = text },
		Channel: func(name string) error {
			if name != "test" && name != "other" {
				return errors.New("no channel " + name)
			}
			return nil
		},
		Check: func(name string) error {
			if name != "ci" {
				return errors.New("no check " + name)
			}
			return nil
		},
		Agent: func(name string) error {
			if name != "main" {
				return errors.New("no agent " + name)
			}
			return nil
		},
	}
}

func TestJobs(t *testing.T) {
	t.Parallel()
	all, faults := read(automation.Cron{Timezone: "Europe/Berlin", Jobs: []automation.Job{
		{ID: "brief", Schedule: "0 7 * * mon-fri", Text: "up"},
		{
			ID: "water", Every: scalar.Duration(time.Hour), Timezone: "UTC", Text: "drink", Jitter: scalar.Wait(time.Minute), CatchUp: automation.CatchUp{Window: scalar.Wait(time.Minute)},
			Deliver: automation.Deliver{To: []string{"ops", "test:-100:7"}, Fallback: []string{"owner", "other:U1"}, Within: scalar.Duration(time.Second)},
		},
		{ID: "eve", At: "2026-12-24T18:00", Text: "now"},
		{
			ID: "news", Schedule: "0 8 * * *", Exact: true, Prompt: "news?", Overlap: "queue", Retry: automation.Retry{Max: 3}, Ends: automation.Ends{After: 9, At: "2027-01-01"},
			OnFailure: automation.OnFailure{Alert: "error", After: 2},
		},
	}}, automation.Targets{"ops": {Channel: "test", Account: "two", To: "C1", Thread: "9"}})
	require.Empty(t, faults)
	owner := []ledger.TriggerTarget{{Name: "owner", To: "owner"}}
	require.Equal(t, owner, all[0].Deliver.To)
	require.Equal(t, []any{10 * time.Minute, time.Hour, time.Minute}, []any{all[0].Deliver.Within, all[0].CatchUp, all[0].Jitter})
	require.Equal(t, "2026-11-23T07:00:00+01:00", all[0].Schedule.Next(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)).Format(time.RFC3339))
	require.Equal(t, []ledger.TriggerTarget{{Name: "ops", Channel: "test", Account: "two", To: "C1", Thread: "9"}, {Name: "test:-100:7", Channel: "test", To: "-100", Thread: "7"}}, all[1].Deliver.To)
	require.Equal(t, append(owner, ledger.TriggerTarget{Name: "other:U1", Channel: "other", To: "U1"}), all[1].Deliver.Fallback)
	require.Equal(t, []any{time.Second, time.Minute, time.Minute}, []any{all[1].Deliver.Within, all[1].CatchUp, all[1].Jitter})
	require.Equal(t, cron.Schedule{Every: time.Hour, Zone: time.UTC}, all[1].Schedule)
	require.Equal(t, "2026-12-24T17:00:00Z", all[2].Schedule.At.UTC().Format(time.RFC3339))
	require.NotEqual(t, all[0].Plan, all[2].Plan)
	news := all[3]
	require.Equal(t, []any{time.Duration(0), job.OverlapQueue, job.Retry{Max: 3, Backoff: 30 * time.Second}, job.OnFailure{Alert: "error", After: 2}}, []any{news.Jitter, news.Overlap, news.Retry, news.OnFailure})
	require.Equal(t, []any{9, "2026-12-31T23:00:00Z"}, []any{news.EndsAfter, news.EndsAt.UTC().Format(time.RFC3339)})
	require.Contains(t, news.Plan, "|9|2027-01-01", "a job with another end is planned again")
}

// 0s differs from a time span that is not given.
func TestNoSpreadAndNoCatchUp(t *testing.T) {
	t.Parallel()
	all, faults := read(automation.Cron{Timezone: "UTC", Jobs: []automation.Job{{
		ID: "brief", Schedule: "0 7 * * *", Text: "x", Exact: true, Jitter: scalar.NoWait, CatchUp: automation.CatchUp{Window: scalar.NoWait},
	}}}, nil)
	require.Empty(t, faults)
	require.Zero(t, all[0].Jitter)
	require.Zero(t, all[0].CatchUp)
	all, faults = read(automation.Cron{Timezone: "UTC", Jobs: []automation.Job{{ID: "brief", Schedule: "0 7 * * *", Text: "x", Jitter: scalar.NoWait}}}, nil)
	require.Empty(t, faults)
	require.Zero(t, all[0].Jitter, "also at full hours")
}

// Jobs whose times are all at full hours are spread, because many people choose those.
func TestFullHoursAreSpread(t *testing.T) {
	t.Parallel()
	for schedule, want := range map[string]time.Duration{"0 7 * * *": time.Minute, "@daily": time.Minute, "0 0 */2 * * *": time.Minute, "0,30 * * * *": 0, "30 7 * * *": 0, "1 0 7 * * *": 0} {
		all, faults := read(automation.Cron{Timezone: "Asia/Kathmandu", Jobs: []automation.Job{{ID: "a", Schedule: schedule, Text: "x"}}}, nil)
		require.Empty(t, faults)
		require.Equal(t, want, all[0].Jitter, schedule)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	whole := func(change func(j *automation.Job)) automation.Cron {
		j := automation.Job{ID: "a", Schedule: "@daily", Text: "x", Timezone: "UTC"}
		change(&j)
		return automation.Cron{Jobs: []automation.Job{j}}
	}
	asking := func(change func(j *automation.Job)) automation.Cron {
		return whole(func(j *automation.Job) {
			j.Text, j.Prompt = "", "x"
			change(j)
		})
	}
	for path, c := range map[string]struct {
		cron    automation.Cron
		targets automation.Targets
		want    string
	}{
		"cron.timezone":                {automation.Cron{Timezone: "Berlin"}, nil, `time zone "Berlin" is unknown`},
		"cron.jobs[0].id":              {whole(func(j *automation.Job) { j.ID = "A b" }), nil, `"A b": want a name`},
		"cron.jobs[1].id":              {automation.Cron{Jobs: append(whole(func(*automation.Job) {}).Jobs, whole(func(*automation.Job) {}).Jobs...)}, nil, `"a" is used twice`},
		"cron.jobs[0].agent":           {whole(func(j *automation.Job) { j.Text, j.Prompt, j.Agent = "", "x", "mein" }), nil, "no agent mein"},
		"cron.jobs[0].session":         {whole(func(j *automation.Job) { j.Text, j.Prompt, j.Session = "", "x", "mine" }), nil, "want isolated, main or a session key"},
		"cron.jobs[0].check":           {whole(func(j *automation.Job) { j.Check = "cj" }), nil, "no check cj"},
		"cron.jobs[0].overlap":         {whole(func(j *automation.Job) { j.Overlap = "skip" }), nil, "is for jobs with a prompt"},
		"cron.jobs[0].retry":           {whole(func(j *automation.Job) { j.Retry.Max = 1 }), nil, "is for jobs with a prompt"},
		"cron.jobs[0].retry.max":       {asking(func(j *automation.Job) { j.Retry.Max = 11 }), nil, "11: want 0 to 10"},
		"cron.jobs[0].retry.backoff":   {asking(func(j *automation.Job) { j.Retry.Max, j.Retry.Backoff = 1, 1 }), nil, "want at least 1s"},
		"cron.jobs[0].ends":            {whole(func(j *automation.Job) { j.Schedule, j.At, j.Ends.After = "", "2026-12-24", 1 }), nil, "has no effect with at"},
		"cron.jobs[0].ends.after":      {whole(func(j *automation.Job) { j.Ends.After = -1 }), nil, "want at least 1"},
		"cron.jobs[0].ends.at":         {whole(func(j *automation.Job) { j.Ends.At = "soon" }), nil, "write it as"},
		"cron.jobs[0].onFailure.after": {whole(func(j *automation.Job) { j.OnFailure.After = 101 }), nil, "want 1 to 100"},
		"cron.jobs[0].exact":           {whole(func(j *automation.Job) { j.Exact, j.Jitter = true, 1 }), nil, "contradicts jitter"},
		"cron.jobs[0].timeout":         {whole(func(j *automation.Job) { j.Timeout = scalar.Duration(time.Minute) }), nil, "is for jobs with a prompt"},
		"cron.jobs[0].deliver.fallback": {whole(func(j *automation.Job) {
			j.Deliver = automation.Deliver{To: []string{"none"}, Fallback: []string{"owner"}}
		}), nil, "has no effect"},
		"cron.jobs[0].timezone":            {whole(func(j *automation.Job) { j.Timezone = "Mars/Base" }), nil, "is unknown"},
		"cron.jobs[0].schedule":            {whole(func(j *automation.Job) { j.Schedule = "0 25 * * *" }), nil, "column 3 (hour)"},
		"cron.jobs[0].at":                  {whole(func(j *automation.Job) { j.Schedule, j.At = "", "noon" }), nil, "write it as"},
		"cron.jobs[0].every":               {whole(func(j *automation.Job) { j.Schedule, j.Every = "", scalar.Duration(time.Millisecond) }), nil, "1ms: want at least 1s"},
		"cron.jobs[0]":                     {whole(func(j *automation.Job) { j.At = "2026-12-24" }), nil, "has 2 of schedule, every and at: want one"},
		"cron.jobs[0].deliver.to[1]":       {whole(func(j *automation.Job) { j.Deliver.To = []string{"owner", "ops"} }), nil, `"ops": want owner, a name from targets`},
		"cron.jobs[0].deliver.to[0]":       {whole(func(j *automation.Job) { j.Deliver.To = []string{"tset:1"} }), nil, "no channel tset"},
		"cron.jobs[0].deliver.fallback[0]": {whole(func(j *automation.Job) { j.Deliver.Fallback = []string{"test:"} }), nil, `"test:": want owner`},
		"targets.owner":                    {automation.Cron{}, automation.Targets{"owner": {Channel: "test", To: "1"}}, "and not owner"},
		"targets.ops.channel":              {automation.Cron{}, automation.Targets{"ops": {To: "1"}}, "is missing"},
		"targets.ops.to":                   {automation.Cron{}, automation.Targets{"ops": {Channel: "test"}}, "is missing"},
		"targets.ops.classification":       {automation.Cron{}, automation.Targets{"ops": {Channel: "test", To: "#ops", Classification: flow.Internal}}, "needs the conversation's id in to, not \"#ops\""},
		"targets.me.classification":        {automation.Cron{}, automation.Targets{"me": {Channel: "test", To: "owner", Classification: flow.Internal}}, "needs the conversation's id"},
	} {
		_, faults := read(c.cron, c.targets)
		require.Len(t, faults, 1, path)
		require.Contains(t, faults[path], c.want, path)
	}
	_, faults := read(whole(func(j *automation.Job) { j.Schedule = "" }), nil)
	require.Contains(t, faults["cron.jobs[0]"], "has 0 of schedule, every and at")
	_, faults = read(whole(func(j *automation.Job) { j.Text = " " }), nil)
	require.Contains(t, faults["cron.jobs[0]"], "has neither text nor prompt")
	_, faults = read(whole(func(j *automation.Job) { j.Prompt = "y" }), nil)
	require.Contains(t, faults["cron.jobs[0]"], "has both text and prompt")
}

func TestHeartbeats(t *testing.T) {
	t.Parallel()
	hour := scalar.Duration(time.Hour)
	beat := func(h automation.Heartbeat) ([]job.Job, map[string]string) {
		faults := map[string]string{}
		r := reader(automation.Cron{Timezone: "Europe/Berlin"}, nil, faults)
		r.Heartbeats = []automation.AgentHeartbeat{{Agent: "quiet"}, {Agent: "main", Heartbeat: h}}
		return r.Jobs(), faults
	}
	all, faults := beat(automation.Heartbeat{Every: hour, ActiveHours: "08:00-22:00", Checks: []string{"ci"}})
	require.Empty(t, faults)
	require.Len(t, all, 1)
	j := all[0]
	require.Equal(t, []any{"heartbeat:main", "main", "isolated", true, "every 1h, 08:00-22:00 Europe/Berlin", "agents.list[1].heartbeat"}, []any{j.ID, j.Agent, j.Session, j.Owner, j.When, j.Entry})
	require.Equal(t, []ledger.TriggerTarget{{Name: "owner", To: "owner"}}, j.Deliver.To)
	require.Equal(t, []string{"ci"}, j.Checks)
	all, faults = beat(automation.Heartbeat{Every: hour, Target: "none", Session: "main"})
	require.Empty(t, faults)
	require.Empty(t, all[0].Deliver.To)
	require.Equal(t, job.Main, all[0].Session)
	for path, c := range map[string]struct {
		h    automation.Heartbeat
		want string
	}{
		"every":       {automation.Heartbeat{Target: "owner"}, "is missing"},
		"activeHours": {automation.Heartbeat{Every: hour, ActiveHours: "8 to 10"}, "such as 08:00-22:00"},
		"timezone":    {automation.Heartbeat{Every: hour, Timezone: "Mars"}, "is unknown"},
		"target":      {automation.Heartbeat{Every: hour, Target: "ops"}, `"ops": want owner, a name from targets`},
		"checks[0]":   {automation.Heartbeat{Every: hour, Checks: []string{"cj"}}, "no check cj"},
	} {
		_, faults := beat(c.h)
		require.Len(t, faults, 1, path)
		require.Contains(t, faults["agents.list[1].heartbeat."+path], c.want)
	}
	_, faults = beat(automation.Heartbeat{Every: 1})
	require.Contains(t, faults["agents.list[1].heartbeat.every"], "want at least 1s")
}

func TestJobWithAPrompt(t *testing.T) {
	t.Parallel()
	all, faults := read(automation.Cron{Jobs: []automation.Job{
		{ID: "brief", Schedule: "@daily", Prompt: "up?", Agent: "main", Session: "cron:other", Timeout: scalar.Duration(time.Minute), Deliver: automation.Deliver{When: "changed"}},
		{ID: "tidy", Schedule: "@daily", Prompt: "tidy up", Deliver: automation.Deliver{To: []string{"none"}}},
		{ID: "quiet", Schedule: "@daily", Prompt: "tidy up", Deliver: automation.Deliver{When: "never"}},
	}}, nil)
	require.Empty(t, faults)
	require.Equal(t, []any{"up?", "main", "cron:other", time.Minute, true}, []any{all[0].Prompt, all[0].Agent, all[0].Session, all[0].Timeout, all[0].Deliver.Changed})
	require.Len(t, all[0].Deliver.To, 1)
	require.Empty(t, all[1].Deliver.To)
	require.Empty(t, all[2].Deliver.To)
}
