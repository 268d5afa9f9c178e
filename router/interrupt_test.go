package router_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

func withMode(mode sessions.QueueMode) func(*bundle) {
	return func(b *bundle) { b.settings.Queue.Mode = mode }
}

// endless works until it is told to end, but for a text of which the words tell it to answer.
func endless(words string) func(context.Context, string, func(sessions.Event)) (string, error) {
	return func(ctx context.Context, text string, emit func(sessions.Event)) (string, error) {
		if text == words {
			return echo(ctx, text, emit)
		}
		<-ctx.Done()
		return "", ctx.Err()
	}
}

// A newer message ends the run that works and is answered with what was said before it. Nobody is told of the end.
func TestInterruptReplacesTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withMode(sessions.QueueInterrupt))
		b.agent.answer = endless("write a book | no, a letter")
		first := b.hear(in("ann", "1", "write a book"))
		synctest.Wait()
		second := b.hear(in("ann", "2", "no, a letter"))
		b.await(1)
		require.Equal(t, []string{"echo: write a book | no, a letter"}, b.chat.texts("ann"))
		ended := b.ended(first.Run)
		require.Equal(t, sessions.RunAborted, ended.Status)
		require.Equal(t, "Replaced by a newer message.", ended.Error)
		require.Equal(t, sessions.RunDone, b.ended(second.Run).Status)
		synctest.Wait() // events follow the commit
		require.Equal(t, []sessions.EventType{sessions.EventUser, sessions.EventStarted, sessions.EventAborted}, b.bus.seen(first.Run))
	})
}

// What waits when a run is interrupted is worked together with the newest message, in its order.
func TestInterruptTakesWhatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.agent.answer = endless("one | two | three")
		b.hear(in("ann", "1", "one"))
		synctest.Wait()
		b.hear(in("ann", "2", "two"))
		b.settings.Queue.Mode = sessions.QueueInterrupt
		last := b.hear(in("ann", "3", "three"))
		b.await(1)
		require.Equal(t, []string{"echo: one | two | three"}, b.chat.texts("ann"))
		require.Equal(t, sessions.RunDone, b.ended(last.Run).Status)
	})
}

// A message in another conversation of the session ends no run: its people would hear nothing of their question.
func TestInterruptIsForTheSamePeople(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withMode(sessions.QueueInterrupt), func(b *bundle) { b.settings.Keyer.Scope = sessions.ScopeMain })
		release := b.busy()
		b.hear(in("ann", "1", "hi"))
		synctest.Wait()
		b.hear(in("bob", "1", "me too"))
		synctest.Wait()
		release()
		b.await(2)
		require.Equal(t, []string{"echo: hi"}, b.chat.texts("ann"))
		require.Equal(t, []string{"echo: me too"}, b.chat.texts("bob"))
	})
}

// An interruption whose process dies at once is heard by the next one.
func TestInterruptSurvivesADeath(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withMode(sessions.QueueInterrupt))
		b.agent.answer = endless("")
		first := b.hear(in("ann", "1", "one"))
		synctest.Wait()
		b.stop()
		run, err := b.store.Run(t.Context(), first.Run)
		require.NoError(t, err)
		next := run
		next.ID, next.Status, next.EventKey, next.Input.Text = sessions.NewRunID(), sessions.RunQueued, "test/default/2", "two"
		require.NoError(t, b.store.CommitSession(t.Context(), sessions.Change{
			Enqueue: []sessions.Run{next}, Interrupt: []sessions.Interrupt{{Session: run.Session, Run: run.ID}},
		}))
		b.agent.answer = echo
		b.start()
		b.await(1)
		require.Equal(t, []string{"echo: one | two"}, b.chat.texts("ann"))
		require.Equal(t, sessions.RunAborted, b.ended(first.Run).Status)
		require.Equal(t, sessions.RunDone, b.ended(next.ID).Status)
	})
}

// A step of an exchange is not ended by a person's message, which waits for it.
func TestInterruptLeavesStepsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withMode(sessions.QueueInterrupt))
		release := b.busy()
		first := b.hear(in("ann", "1", "one"))
		synctest.Wait()
		session := first.Session
		step := sessions.Run{
			ID: sessions.NewRunID(), Session: session, Partition: sessions.SessionLane(session).Partition(partitions), Kind: sessions.KindAsk,
			Status: sessions.RunQueued, Input: sessions.Input{Text: "asks"}, Label: flow.Bottom(), Accepted: time.Now(), EventKey: "exchange/1",
		}
		require.NoError(t, b.store.CommitSession(t.Context(), sessions.Change{Enqueue: []sessions.Run{step}}))
		b.hear(in("ann", "2", "two"))
		release()
		require.Equal(t, sessions.RunDone, b.ended(step.ID).Status)
	})
}

// A conflict during a run does not fail the run: it continues from its stored state.
func TestConflictInWorkIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		tries := 0
		b.agent.work = func(context.Context, *sessions.Session, *sessions.Run) (string, error) {
			if tries++; tries == 1 {
				return "", errors.Join(errors.New("add messages to run"), sessions.ErrConflict)
			}
			return "done", nil
		}
		run := b.hear(in("ann", "1", "hi"))
		b.await(1)
		require.Equal(t, ledger.OutcomeRun, run.Outcome)
		require.Equal(t, []string{"done"}, b.chat.texts("ann"))
		require.Equal(t, 2, b.ended(run.Run).Attempts)
	})
}
