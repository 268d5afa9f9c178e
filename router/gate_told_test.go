package router_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy"
	"sluice/policy/condition"
	"sluice/policy/flow"
	"sluice/router/disclose"
	"sluice/sessions"
)

// An answer that is given to who waits for it over the API passes the gate as its delivery does.
func TestWhoWaitsIsToldWhatMayLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		run := b.ended(b.hear(in("owner", "1", "hello")).Run)
		require.NotEmpty(t, run.Reply)
		told, err := b.Answers.Disclose(t.Context(), run, flow.Level{})
		require.NoError(t, err)
		require.Equal(t, disclose.Told{Text: run.Reply}, told)
		b.gate.mu.Lock()
		b.gate.forbid = func(policy.Egress) *policy.Decision {
			return &policy.Decision{Action: policy.Block, Rules: []policy.CheckResult{{Rule: "policy.rules.r"}}}
		}
		b.gate.mu.Unlock()
		told, err = b.Answers.Disclose(t.Context(), run, flow.Level{})
		require.NoError(t, err)
		require.Empty(t, told.Text)
		require.Equal(t, "policy.rules.r", told.Withheld.Decision.Rules[0].Rule)
	})
}

// Who follows a session is told the answer without what a rule takes out, though nothing of it was shown while it was written.
func TestWhoFollowsIsToldWhatIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		rules, err := condition.NewRules([]policy.Rule{{Name: "r", Hook: policy.PreOutput, Action: policy.Redact, Redact: "hell"}})
		require.NoError(t, err)
		gate := policy.NewGate(map[string]policy.Sink{"test": {Level: flow.Restricted}}, nil, rules)
		b.gate.forbid = func(e policy.Egress) *policy.Decision {
			d := gate.Decide(e)
			return &d
		}
		heard := b.hear(in("owner", "1", "hello"))
		b.ended(heard.Run)
		synctest.Wait()
		b.bus.mu.Lock()
		defer b.bus.mu.Unlock()
		last := b.bus.events[len(b.bus.events)-1]
		require.Equal(t, sessions.EventDone, last.Type)
		require.NotContains(t, last.Text, "hell")
		require.Contains(t, last.Text, "[redacted]")
		for _, e := range b.bus.events {
			if e.Type != sessions.EventUser {
				require.NotContains(t, e.Text, "hell")
			}
		}
	})
}

// A command's answer is the gateway's own word: who waits for it reads it where it is delivered, though the session's answers are held back there.
func TestWhoWaitsIsToldWhatACommandAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.carrying(flow.Internal)
		b.hear(in("owner", "1", "hello"))
		b.await(1)
		run := b.ended(b.hear(in("owner", "2", "/raise CONFIDENTIAL")).Run)
		b.await(1)
		told, err := b.Answers.Disclose(t.Context(), run, flow.Level{})
		require.NoError(t, err)
		require.Contains(t, told.Text, "information above INTERNAL may not be sent here")
		require.Equal(t, told.Text, b.chat.texts("owner")[1])
	})
}

// An answer counts once for a rate, in whatever order it is delivered, told to who waits for it and shown to who follows.
func TestAnAnswerThatIsToldInSeveralPlacesCountsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withMode(sessions.QueueCollect), judged(t, anywhere(), policy.Rule{
			Name: "slowly", Hook: policy.PreOutput, Action: policy.Block, When: `output.kind == "reply"`, Rate: &policy.Rate{Limit: 1, Per: time.Hour},
		}))
		first := b.hear(in("ann", "1", "hello"))
		second := b.hear(in("ann", "2", "hello again")) // worked together with the first, or after it
		told := func(id sessions.RunID) string {
			got, err := b.Answers.Disclose(t.Context(), b.ended(id), flow.Level{})
			require.NoError(t, err)
			return got.Text
		}
		b.await(1)
		synctest.Wait()
		require.NotEmpty(t, told(first.Run), "it was delivered")
		run := b.ended(second.Run)
		require.Equal(t, run.Leader != "", told(second.Run) != "", "it is told if it is the same answer")
		b.bus.mu.Lock()
		defer b.bus.mu.Unlock()
		for _, e := range b.bus.events {
			if e.Type == sessions.EventDone && (e.Run == first.Run || run.Leader != "") {
				require.NotEmpty(t, e.Text)
			}
		}
	})
}
