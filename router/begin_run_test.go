package router_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/inbound"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/storetest"
)

// A message to an open session without work is stored with the start of its run. No death at any commit loses or repeats an
// answer.
func TestARunStartsInTheCommitOfItsMessage(t *testing.T) {
	t.Parallel()
	commits := 0
	everyDeath(t, nil, func(t *testing.T, b *bundle) {
		first := b.insist(in("ann", "1", "one"))
		b.settle()
		before := b.dying.commits
		second := b.insist(in("ann", "2", "two"))
		b.settle()
		if b.dying.at == 0 {
			commits = b.dying.commits - before
		}
		require.Equal(t, []string{"echo: one", "echo: two"}, b.chat.texts("ann"))
		require.Equal(t, []string{"user: one", "assistant: echo: one", "user: two", "assistant: echo: two"}, b.thread(first.Session))
		require.Equal(t, sessions.RunDone, b.ended(second.Run).Status)
		require.Equal(t, 2, b.decisions("input.allow"), "each message was checked once for the audit trail")
	})
	require.Equal(t, 3, commits, "started, answered, sent")
}

// A message that may not be read is refused as usual, once, when its session is open and has no work.
func TestARunThatDoesNotStartWithItsMessage(t *testing.T) {
	t.Parallel()
	everyDeath(t, []func(*bundle){withForbidden}, func(t *testing.T, b *bundle) {
		first := b.insist(in("ann", "1", "one"))
		b.settle()
		bad := b.insist(in("ann", "2", "a forbidden word"))
		b.settle()
		b.insist(in("ann", "3", "three"))
		b.settle()
		require.Equal(t, sessions.RunFailed, b.ended(bad.Run).Status)
		require.Equal(t, []string{"echo: one", notRead, "echo: three"}, b.chat.texts("ann"))
		require.NotContains(t, b.thread(first.Session), "user: a forbidden word")
		require.Equal(t, 1, b.decisions("input.block"))
	})
}

// openSession is a gateway with an open session that has answered its first message.
func openSession(t *testing.T) (*bundle, inbound.Admitted) {
	t.Helper()
	b := newBundle(t)
	got := b.hear(in("ann", "1", "one"))
	b.await(1)
	synctest.Wait()
	return b, got
}

// A run that waits without the knowledge of the session's worker is worked first.
func TestARunDoesNotStartBeforeAWaitingOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, got := openSession(t)
		waits := b.ended(got.Run)
		waits.ID, waits.Status, waits.EventKey, waits.Attempts, waits.Epoch = sessions.NewRunID(), sessions.RunQueued, "", 0, 0
		waits.Input.Text = "waits"
		require.NoError(t, b.store.Commit(t.Context(), ledger.Change{Change: sessions.Change{Enqueue: []sessions.Run{waits}}}))
		b.hear(in("ann", "2", "two"))
		b.await(2)
		require.Equal(t, []string{"echo: one", "echo: waits", "echo: two"}, b.chat.texts("ann"))
		synctest.Wait()
		require.Equal(t, 3, b.decisions("input.allow"))
	})
}

// If another replica has taken the session's partition over, the run is queued for it, and the bus is told.
func TestARunOfASessionThatMoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, got := openSession(t)
		storetest.Take(t, b.store, sessions.SessionLane(got.Session).Partition(partitions), "rival")
		second := b.hear(in("ann", "2", "two"))
		synctest.Wait()
		run, err := b.store.Run(t.Context(), second.Run)
		require.NoError(t, err)
		require.Equal(t, sessions.RunQueued, run.Status)
		require.Zero(t, run.Epoch)
		require.Equal(t, []string{"user: one", "assistant: echo: one"}, b.thread(got.Session))
		require.True(t, b.bus.fenced.Load(), "the bus is told")
	})
}

// A message that comes while another one is stored waits behind it.
func TestMessagesThatComeTogetherStayApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.hear(in("ann", "0", "zero"))
		b.await(1)
		synctest.Wait()
		for n := range 5 {
			go func() { _ = b.Intake.Accept(context.Background(), in("ann", fmt.Sprint(n+1), fmt.Sprint(n+1))) }()
		}
		b.await(5)
		synctest.Wait()
		require.ElementsMatch(t, []string{"echo: zero", "echo: 1", "echo: 2", "echo: 3", "echo: 4", "echo: 5"}, b.chat.texts("ann"))
		require.Equal(t, 6, b.decisions("input.allow"))
	})
}

// What a session has learnt and what was set in the meantime hold for a run that starts with its message.
func TestSettingsHoldForARunThatStartsWithItsMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, got := openSession(t)
		title := flow.NewText("set", flow.Bottom())
		require.NoError(t, b.store.CommitSession(t.Context(), sessions.Change{Patch: []sessions.Patch{{ID: got.Session, Title: &title}}}))
		var seen flow.Text
		b.agent.begin = func(s *sessions.Session) { seen = s.Record().Title }
		b.hear(in("ann", "2", "two"))
		b.await(1)
		require.Equal(t, title, seen)
	})
}
