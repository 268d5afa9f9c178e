package agent_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/model/chain"
	"sluice/internal/spending"
	runs "sluice/router/work"
	"sluice/sessions"
)

// A budget without room ends the run, or an owner is asked for more: not for unattended work.
func TestABudgetHasNoRoom(t *testing.T) {
	t.Parallel()
	const stopped = "My budget does not cover this, so I stopped. My owner can see why with `sluice runs list --status failed`, and raise the limit in `budgets`."
	for name, c := range map[string]struct {
		rule  spending.Rule
		kind  sessions.RunKind
		owner owner
		says  string // empty: the run waits
		asked int
	}{
		"stop":                    {rule: spending.RuleStop, says: stopped},
		"ask and wait":            {rule: spending.RuleAsk, owner: owner{thinks: true}, asked: 1},
		"ask and be refused":      {rule: spending.RuleAsk, owner: owner{refuses: "No."}, says: "No.", asked: 1},
		"a job asks nobody":       {rule: spending.RuleAsk, kind: sessions.KindTrigger, says: stopped},
		"a sub-agent asks nobody": {rule: spending.RuleAsk, kind: sessions.KindTask, says: stopped},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reached := &spending.Reached{Budget: &spending.Budget{Name: "house", AtLimit: c.rule}}
			b := newBundle(t, func(context.Context, sessions.Request, func(sessions.Chunk)) (sessions.Completion, error) {
				return sessions.Completion{}, &chain.Refused{Err: reached}
			})
			b.approver, b.run.Kind = &c.owner, c.kind
			_, err := b.ask(t.Context(), "hello")
			require.Len(t, c.owner.short, c.asked)
			if c.says == "" {
				require.ErrorIs(t, err, runs.ErrAwaited)
				return
			}
			failed, ok := errors.AsType[*sessions.WorkError](err)
			require.True(t, ok)
			require.Equal(t, c.says, failed.Public)
		})
	}
}
