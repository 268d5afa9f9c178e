package router_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

const notRead = "I am not allowed to read this message. My owner can see why with `sluice audit list`."

// withForbidden lets no message in that has the word forbidden in it.
func withForbidden(b *bundle) {
	b.rules = []policy.Rule{{Name: "words", Hook: policy.PreContextInjection, Action: policy.Block, When: `text.contains("forbidden")`}}
}

// A message that is not let in ends alone; those that were worked together with it are answered. No death at any commit
// changes that.
func TestOnlyWhatIsNotLetInEnds(t *testing.T) {
	t.Parallel()
	everyDeath(t, []func(*bundle){withMode(sessions.QueueCollect), withForbidden}, func(t *testing.T, b *bundle) {
		release := b.busy()
		zero := b.insist(in("ann", "0", "zero"))
		synctest.Wait()
		first := b.insist(in("ann", "1", "one"))
		bad := b.insist(in("ann", "2", "a forbidden word"))
		third := b.insist(in("ann", "3", "three"))
		release()
		b.settle()
		require.Equal(t, sessions.RunDone, b.ended(zero.Run).Status)
		require.Equal(t, sessions.RunDone, b.ended(first.Run).Status)
		require.Equal(t, sessions.RunFailed, b.ended(bad.Run).Status)
		require.Equal(t, sessions.RunDone, b.ended(third.Run).Status)
		require.Equal(t, "echo: one | three", b.ended(third.Run).Reply)
		require.NotContains(t, b.thread(zero.Session), "user: a forbidden word")
		require.ElementsMatch(t, []string{"echo: zero", notRead, "echo: one | three"}, b.chat.texts("ann"))
	})
}

// Where none of several messages is let in, each sender is told and the queue goes on.
func TestNoneIsLetIn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withMode(sessions.QueueCollect), withForbidden)
		release := b.busy()
		b.hear(in("ann", "0", "zero"))
		synctest.Wait()
		first, second := b.hear(in("ann", "1", "forbidden")), b.hear(in("ann", "2", "forbidden, too"))
		release()
		b.await(3)
		require.Equal(t, sessions.RunFailed, b.ended(first.Run).Status)
		require.Equal(t, sessions.RunFailed, b.ended(second.Run).Status)
		require.Equal(t, []string{"echo: zero", notRead, notRead}, b.chat.texts("ann"))
		b.hear(in("ann", "3", "three"))
		b.await(1)
		require.Equal(t, "echo: three", b.chat.texts("ann")[3])
	})
}

// A message that is not let in does not keep the run that works from its tools: it is looked at once, and ends in its own turn.
func TestRunIsNotHeldUpByWhatIsNotLetIn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withMode(sessions.QueueSteer), withForbidden)
		held := make(chan struct{})
		var waiting []bool
		b.agent.work = func(ctx context.Context, s *sessions.Session, _ *sessions.Run) (string, error) {
			<-held
			for range 3 {
				if _, err := b.agent.inbox.Take(ctx); err != nil {
					return "", err
				}
				more, err := b.agent.inbox.Waiting(ctx)
				if err != nil {
					return "", err
				}
				waiting = append(waiting, more)
			}
			return "answer to " + s.Last().Text(), nil
		}
		b.hear(in("ann", "1", "one"))
		synctest.Wait()
		bad := b.hear(in("ann", "2", "a forbidden word"))
		b.hear(in("ann", "3", "three"))
		close(held)
		b.await(2)
		require.Equal(t, []bool{false, false, false}, waiting, "a run that hears of something skips its calls")
		require.Equal(t, []string{"answer to three", notRead}, b.chat.texts("ann"))
		require.Equal(t, sessions.RunFailed, b.ended(bad.Run).Status)
		looked := 0
		for _, action := range b.trail() {
			if action == "input.block" {
				looked++
			}
		}
		require.Equal(t, 2, looked, "by the run that worked, and in its own turn")
	})
}

// trail are the actions of the audit trail, the newest first.
func (b *bundle) trail() (actions []string) {
	b.t.Helper()
	entries, err := b.store.ListAudit(context.Background(), ledger.AuditQuery{MaxLevel: flow.Restricted, Limit: 200})
	require.NoError(b.t, err)
	for _, e := range entries {
		actions = append(actions, e.Action)
	}
	return actions
}
