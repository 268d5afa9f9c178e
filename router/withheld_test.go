package router_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/decider"
	"sluice/router/ledger"
	"sluice/sessions"
)

// However an answer comes to be withheld, its conversation is told so in the same words. The notice belongs to the session,
// so that only those who may know of the session are told over the API that it has an answer.
func TestEveryWithheldAnswerIsToldTheSameWay(t *testing.T) {
	t.Parallel()
	taught := flow.NewLabel(flow.Confidential, flow.Trusted)
	low := policy.Sink{Level: flow.Internal}
	for name, c := range map[string]struct {
		sink policy.Sink
		rule func(*policy.Rule) // of what holds plans; may be nil
		deny bool               // by a person
		life time.Duration
		own  bool // the notice has a label of its own
	}{
		"above its place":      {low, nil, false, 24 * time.Hour, true},
		"blocked by a rule":    {anywhere(), func(r *policy.Rule) { r.Action = policy.Block }, false, 24 * time.Hour, false},
		"denied by a person":   {anywhere(), func(*policy.Rule) {}, true, 24 * time.Hour, false},
		"not decided in time":  {anywhere(), func(r *policy.Rule) { r.Timeout = time.Minute }, false, 24 * time.Hour, false},
		"older than it may be": {anywhere(), func(r *policy.Rule) { r.Timeout = time.Hour }, false, time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				rules := []policy.Rule{}
				if c.rule != nil {
					rules = append(rules, asks(func(r *policy.Rule) {
						r.When = `text.contains("plan") && output.kind == "reply"`
						c.rule(r)
					}))
				}
				b := newBundle(t, judged(t, c.sink, rules...), func(b *bundle) { b.settings.DeliveryLife = c.life })
				b.agent.begin = func(s *sessions.Session) { s.Raise(taught) }
				heard := b.hear(in("owner", "1", "the plan"))
				run := b.ended(heard.Run)
				synctest.Wait()
				if c.deny {
					_, err := b.Approvals.DecideApproval(t.Context(), b.waiting().ID, decider.Verdict{Actor: "test:owner", Owner: true})
					require.NoError(t, err)
				}
				time.Sleep(3 * time.Hour) // the sweeper looks once an hour here
				synctest.Wait()
				var notices []ledger.Delivery
				for _, d := range b.deliveries("") {
					if d.Kind == ledger.KindNotice && d.Idempotency == "" { // a question has a name
						notices = append(notices, d)
					}
				}
				require.Len(t, notices, 1)
				got := notices[0]
				require.Contains(t, got.Text, "I have a reply, but I am not allowed to send it in this conversation.")
				require.Equal(t, run.Session, got.Session, "of whose answer it tells")
				require.Equal(t, run.ID, got.Run)
				require.Equal(t, flow.Confidential, flow.Min(run.Label.Level(), flow.Confidential))
				if c.own {
					require.Equal(t, flow.Bottom(), got.Label)
				} else {
					require.Equal(t, run.Label, got.Label)
				}
				if c.life > time.Hour {
					require.Equal(t, ledger.DeliverySent, got.Status)
				}
			})
		})
	}
}
