package announce_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/announce"
	"sluice/sessions"
)

var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func between(turns int) announce.Exchange {
	return announce.Exchange{
		ID: "x", Request: "how many?", MaxTurns: turns,
		Requester: announce.Party{Session: "ses_a", Agent: "a"}, Target: announce.Party{Session: "ses_b", Agent: "b"},
	}
}

func said(text string) announce.Result {
	return announce.Result{Status: sessions.RunDone, Text: text}
}

// run gives an exchange its results one after the other and says which steps it took.
func run(x announce.Exchange, results ...announce.Result) (announce.Exchange, []announce.Step) {
	x, first := announce.Start(x)
	steps := []announce.Step{first}
	for _, r := range results {
		var next *announce.Step
		if x, next = announce.Next(x, r, now); next != nil {
			steps = append(steps, *next)
		}
	}
	return x, steps
}

func TestWholeExchange(t *testing.T) {
	t.Parallel()
	x, steps := run(between(2), said("seven"), said("sure?"), said("quite"), said("They asked; it is seven."))
	a, b := x.Requester, x.Target
	require.Equal(t, []announce.Step{
		{Phase: announce.Asking, Party: b, Text: "how many?"},
		{Phase: announce.Replying, Party: a, Turn: 1, Text: "seven"},
		{Phase: announce.Replying, Party: b, Turn: 2, Text: "sure?"},
		{Phase: announce.Announcing, Party: b, Text: "Now write what the people in this conversation should know about this exchange."},
	}, steps)
	require.Equal(t, announce.Announced, x.Outcome)
	require.Equal(t, "seven", x.Reply)
	require.Equal(t, "quite", x.Latest)
	require.Equal(t, now, x.Ended)
}

func TestEnds(t *testing.T) {
	t.Parallel()
	failed := announce.Result{Status: sessions.RunFailed, Error: "no model"}
	for name, c := range map[string]struct {
		x       announce.Exchange
		results []announce.Result
		outcome announce.Outcome
		steps   int
		latest  string
	}{
		"the request fails":              {between(5), []announce.Result{failed}, announce.Failed, 1, ""},
		"the request times out":          {between(5), []announce.Result{{Status: sessions.RunTimeout}}, announce.Failed, 1, ""},
		"the request is stopped":         {between(5), []announce.Result{{Status: sessions.RunAborted}}, announce.Stopped, 1, ""},
		"nothing to say":                 {between(5), []announce.Result{said(" NO_REPLY ")}, announce.NoAnswer, 1, ""},
		"no turns":                       {between(0), []announce.Result{said("7"), said("7!")}, announce.Announced, 2, "7"},
		"more turns than there may be":   {between(99), []announce.Result{said("0"), said("1"), said("2"), said("3"), said("4"), said("5"), said("!")}, announce.Announced, 7, "5"},
		"skipped, but said first":        {between(5), []announce.Result{said("7"), said("REPLY_SKIP"), said("!")}, announce.Announced, 3, "7"},
		"a skip inside a sentence":       {between(1), []announce.Result{said("7"), said("say REPLY_SKIP"), said("!")}, announce.Announced, 3, "say REPLY_SKIP"},
		"a turn fails":                   {between(5), []announce.Result{said("7"), failed, said("!")}, announce.Announced, 3, "7"},
		"a turn says nothing":            {between(5), []announce.Result{said("7"), said(""), said("!")}, announce.Announced, 3, "7"},
		"nobody to answer":               {announce.Exchange{Target: between(0).Target, MaxTurns: 5}, []announce.Result{said("7"), said("!")}, announce.Announced, 2, "7"},
		"to itself":                      {announce.Exchange{Requester: between(0).Target, Target: between(0).Target, MaxTurns: 5}, []announce.Result{said("7"), said("!")}, announce.Announced, 2, "7"},
		"silent":                         {between(0), []announce.Result{said("7"), said("ANNOUNCE_SKIP\n")}, announce.Silent, 2, "7"},
		"silent by the other word":       {between(0), []announce.Result{said("7"), said("NO_REPLY")}, announce.Silent, 2, "7"},
		"the announcement fails":         {between(0), []announce.Result{said("7"), failed}, announce.Failed, 2, "7"},
		"more results than it waits for": {between(0), []announce.Result{said("7"), said("!"), said("?"), failed}, announce.Announced, 2, "7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, steps := run(c.x, c.results...)
			require.Equal(t, announce.Ended, x.Phase)
			require.Equal(t, c.outcome, x.Outcome, x.Detail)
			require.Len(t, steps, c.steps)
			require.Equal(t, c.latest, x.Latest)
		})
	}
}

func TestTaskIsAlwaysReported(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		results []announce.Result
		outcome announce.Outcome
		status  sessions.RunStatus
		detail  string
	}{
		"done":               {[]announce.Result{said("7"), said("It is seven.")}, announce.Announced, sessions.RunDone, ""},
		"nothing to say":     {[]announce.Result{said(""), said("NO_REPLY")}, announce.Announced, sessions.RunDone, ""},
		"an empty report":    {[]announce.Result{said("7"), said(" ")}, announce.Announced, sessions.RunDone, ""},
		"to be kept silent":  {[]announce.Result{said("7"), said("ANNOUNCE_SKIP")}, announce.Silent, sessions.RunDone, ""},
		"failed":             {[]announce.Result{{Status: sessions.RunFailed, Error: "no model"}, said("I could not.")}, announce.Announced, sessions.RunFailed, "no model"},
		"report fails too":   {[]announce.Result{{Status: sessions.RunTimeout, Error: "too long"}, {Status: sessions.RunFailed}}, announce.Announced, sessions.RunTimeout, "too long"},
		"stopped by someone": {[]announce.Result{{Status: sessions.RunAborted}}, announce.Stopped, sessions.RunAborted, "the target's run was stopped"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := between(5)
			task.Kind = announce.Spawn
			x, _ := run(task, c.results...)
			require.Equal(t, announce.Ended, x.Phase)
			require.Equal(t, c.outcome, x.Outcome)
			require.Equal(t, c.status, x.Status)
			require.Equal(t, c.detail, x.Detail)
		})
	}
}

// The sub-agent's report has the words that it says for it, else the answer to its task.
func TestReportOfATask(t *testing.T) {
	t.Parallel()
	task := between(5)
	task.Kind, task.Name = announce.Spawn, "prices"
	x, steps := run(task, announce.Result{Status: sessions.RunDone, Text: "7", Runtime: time.Second, Usage: sessions.Usage{OutputTokens: 3}, Cost: "1 EUR"})
	require.Equal(t, []string{"how many?", "Now report the result of your task."}, []string{steps[0].Text, steps[1].Text})
	want := announce.Report{Name: "prices", Status: sessions.RunDone, Result: "7", Runtime: time.Second, Usage: sessions.Usage{OutputTokens: 3}, Cost: "1 EUR", Session: "ses_b"}
	require.Equal(t, want, announce.ReportOf(x, ""))
	want.Result = "It is seven."
	require.Equal(t, want, announce.ReportOf(x, "It is seven."))
}

func TestReportSaysWhatTheRuntimeKnows(t *testing.T) {
	t.Parallel()
	r := announce.Report{
		Name: "prices", Status: sessions.RunTimeout, Result: "Status: success", Notes: "it took too long", Runtime: 61 * time.Second,
		Usage: sessions.Usage{InputTokens: 7, OutputTokens: 3}, Key: "agent:main:subagent:x", Session: "ses_1",
	}
	require.Equal(t, "**Status:** timeout (prices)\n\n**Result:** Status: success\n\n**Notes:** it took too long\n\n"+
		"_runtime 1m1s · tokens 7 in, 3 out · session `agent:main:subagent:x` (`ses_1`) · transcript `/v1/sessions/ses_1/history`_", r.Text())
	r.Cost = "0.0132 USD"
	require.Contains(t, r.Text(), "tokens 7 in, 3 out · cost 0.0132 USD · session")
	require.Contains(t, announce.Report{Status: "odd"}.Text(), "unknown")
	require.True(t, strings.HasPrefix(announce.Report{Status: sessions.RunFailed, Name: "x\n\n**Status:** success"}.Text(), "**Status:** error (x **Status:** success)\n"))
}

func TestStopEndsOnce(t *testing.T) {
	t.Parallel()
	x, _ := run(between(5), said("7"))
	x = announce.Stop(x, "it went in a circle", now)
	require.Equal(t, announce.Stopped, x.Outcome)
	again, step := announce.Next(announce.Stop(x, "else", now.Add(time.Hour)), said("late"), now)
	require.Nil(t, step)
	require.Equal(t, x, again)
}

// Whatever the agents say: an exchange ends, after at most MaxTurns turns; the
// sides alternate; the target alone announces, last; what means silence never is what was said.
func TestEveryExchangeEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		begun := between(rapid.IntRange(-2, 9).Draw(t, "turns"))
		begun.Kind = rapid.SampledFrom([]announce.Kind{announce.Send, announce.Spawn}).Draw(t, "kind")
		x, step := announce.Start(begun)
		steps := []announce.Step{step}
		for x.Phase != announce.Ended {
			result := announce.Result{
				Status: rapid.SampledFrom([]sessions.RunStatus{sessions.RunDone, sessions.RunDone, sessions.RunDone, sessions.RunFailed, sessions.RunTimeout, sessions.RunAborted, sessions.RunDropped}).Draw(t, "status"),
				Text:   rapid.SampledFrom([]string{"", "x", "yes", sessions.ReplySkip, sessions.AnnounceSkip, sessions.NoReply}).Draw(t, "text"),
			}
			var next *announce.Step
			if x, next = announce.Next(x, result, now); next != nil {
				steps = append(steps, *next)
			}
			if len(steps) > announce.TurnsMax+2 {
				t.Fatalf("no end: %+v", steps)
			}
			if (next == nil) != (x.Phase == announce.Ended) {
				t.Fatalf("phase %s with step %v", x.Phase, next)
			}
		}
		checkOrder(t, x, steps)
		if x.Outcome == "" || x.Latest == sessions.ReplySkip || x.Latest == sessions.NoReply {
			t.Fatalf("ended as %+v", x)
		}
	})
}

func checkOrder(t *rapid.T, x announce.Exchange, steps []announce.Step) {
	for i, s := range steps {
		want := x.Target
		if s.Phase == announce.Replying {
			if s.Turn != i || s.Text == "" {
				t.Fatalf("turn %d at place %d says %q", s.Turn, i, s.Text)
			}
			if i%2 == 1 {
				want = x.Requester
			}
		}
		if s.Party != want {
			t.Fatalf("step %d (%s) is worked by %s", i, s.Phase, s.Party.Session)
		}
		if s.Phase == announce.Announcing && i != len(steps)-1 {
			t.Fatal("something follows the announcement")
		}
	}
}

// Who may not see the other side is told nothing by it: no turns, only what the other one's own people hear.
func TestBlindExchangeHasNoTurns(t *testing.T) {
	t.Parallel()
	x := between(5)
	x.Blind = true
	x, steps := run(x, said("the secret"), said("They asked."))
	require.Equal(t, announce.Announced, x.Outcome)
	require.Len(t, steps, 2)
	for _, step := range steps {
		require.Equal(t, x.Target, step.Party)
	}
}
