package router_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/policy"
	"sluice/sessions"
)

// The gate learns under which id a group was configured that has got a new one.
func TestGateKnowsWhereAGroupCameFrom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.gate.forbid = func(e policy.Egress) *policy.Decision {
			if e.Oldest == "old" {
				return &policy.Decision{Action: policy.Block, Reason: "old", Rules: []policy.CheckResult{{Rule: policy.RuleFlow}}}
			}
			return nil
		}
		move := inGroup("old", "ann", "1", "", false)
		move.Migrated = &adapters.Migration{From: "old", To: "new"}
		b.hear(move)
		run := b.hear(inGroup("new", "ann", "2", "what is the secret?", true)).Run
		b.ended(run)
		synctest.Wait()
		require.NotContains(t, b.chat.texts("new"), "echo: ann: what is the secret?")
		for _, chat := range []sessions.ConversationID{"new", "other"} {
			check := b.hear(inGroup(string(chat), "ann", "3", "hello", true))
			b.ended(check.Run)
		}
		synctest.Wait()
		require.Equal(t, []string{"echo: ann: hello"}, b.chat.texts("other"))
	})
}
