package router_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/router/ledger"
	"sluice/sessions"
)

// listening makes an agent that works until it is released, then looks for what was said to it
// in the meantime, and answers all that is open.
func (b *bundle) listening() (release func()) {
	held := make(chan struct{})
	b.agent.work = func(ctx context.Context, s *sessions.Session, _ *sessions.Run) (string, error) {
		select {
		case <-held:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		if _, err := b.agent.inbox.Take(ctx); err != nil {
			return "", err
		}
		var open []string
		for _, m := range s.Messages() {
			if open = append(open, m.Text()); m.Role == sessions.RoleAssistant {
				open = nil
			}
		}
		return "answer to " + strings.Join(open, " | "), nil
	}
	return sync.OnceFunc(func() { close(held) })
}

// A message that comes while a run works is given to that run: one answer, and both runs are done
// with it. No death at any commit loses it or answers it twice.
func TestSteer(t *testing.T) {
	t.Parallel()
	everyDeath(t, []func(*bundle){withMode(sessions.QueueSteer)}, func(t *testing.T, b *bundle) {
		release := b.listening()
		first := b.insist(in("ann", "1", "one"))
		second := b.insist(in("ann", "2", "two"))
		release()
		b.settle()
		require.Equal(t, []string{"user: one", "user: two", "assistant: answer to one | two"}, b.thread(first.Session))
		require.Equal(t, []string{"answer to one | two"}, b.chat.texts("ann"))
		for _, id := range []sessions.RunID{first.Run, second.Run} {
			require.Equal(t, sessions.RunDone, b.ended(id).Status)
			require.Equal(t, "answer to one | two", b.ended(id).Reply)
		}
		require.Equal(t, first.Run, b.ended(second.Run).Leader)
	})
}

// What comes too late for the run is a run of its own, and so is what other people say.
func TestSteerTakesOnlyWhatIsForTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withMode(sessions.QueueSteer), func(b *bundle) { b.settings.Keyer.Scope = sessions.ScopeMain })
		release := b.listening()
		b.hear(in("ann", "1", "one"))
		synctest.Wait()
		b.hear(in("bob", "1", "from elsewhere"))
		b.hear(in("ann", "2", "two"))
		release()
		b.await(2)
		synctest.Wait()
		require.Equal(t, []string{"answer to one | two"}, b.chat.texts("ann"))
		require.Equal(t, []string{"answer to from elsewhere"}, b.chat.texts("bob"))
		b.hear(in("ann", "3", "three"))
		b.await(1)
		require.Equal(t, []string{"answer to one | two", "answer to three"}, b.chat.texts("ann"))
	})
}

// In the other modes a run is given nothing.
func TestOnlySteerSteers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		release := b.listening()
		b.hear(in("ann", "1", "one"))
		synctest.Wait()
		b.hear(in("ann", "2", "two"))
		release()
		b.await(2)
		require.Equal(t, []string{"answer to one", "answer to two"}, b.chat.texts("ann"))
	})
}

// Who speaks into an owner's run does not speak with the owner's word.
func TestSteeredRunIsTheOwnersNoMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withMode(sessions.QueueSteer))
		held := make(chan struct{})
		var before, after bool
		b.agent.work = func(ctx context.Context, _ *sessions.Session, run *sessions.Run) (string, error) {
			before = run.Input.Owner
			<-held
			_, err := b.agent.inbox.Take(ctx)
			after = run.Input.Owner
			return "done", err
		}
		b.hear(inGroup("g", "owner", "1", "one", true))
		synctest.Wait()
		b.hear(inGroup("g", "ann", "2", "two", true))
		close(held)
		b.await(1)
		require.True(t, before)
		require.False(t, after)
	})
}

// The parts of a message that come one after the other are given to a run as one message, when it is whole.
func TestSteerWaitsForTheWholeMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withMode(sessions.QueueSteer))
		look := make(chan struct{})
		var taken []bool
		b.agent.work = func(ctx context.Context, s *sessions.Session, _ *sessions.Run) (string, error) {
			for range look {
				got, err := b.agent.inbox.Take(ctx)
				if err != nil {
					return "", err
				}
				taken = append(taken, got)
			}
			return s.Last().Text(), nil
		}
		b.hear(in("ann", "1", "one"))
		synctest.Wait()
		part := in("ann", "2", "two,")
		part.More = true
		b.hear(part)
		look <- struct{}{}
		synctest.Wait()
		b.hear(in("ann", "3", "and a half"))
		look <- struct{}{}
		look <- struct{}{}
		time.Sleep(2 * time.Second)
		close(look)
		b.await(1)
		require.Equal(t, []bool{false, true, false}, taken)
		require.Equal(t, []string{"two,\nand a half"}, b.chat.texts("ann"))
	})
}

// A session's own queue mode counts before the configured one.
func TestQueueModeOfASession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		first := b.hear(in("ann", "0", "hi"))
		b.await(1)
		mode := sessions.QueueSteer
		_, err := b.PatchSession(t.Context(), sessions.Patch{ID: first.Session, QueueMode: &mode}, "operator")
		require.NoError(t, err)
		release := b.listening()
		b.hear(in("ann", "1", "one"))
		synctest.Wait()
		require.Equal(t, ledger.OutcomeRun, b.hear(in("ann", "2", "two")).Outcome)
		release()
		b.await(1)
		require.Equal(t, []string{"echo: hi", "answer to one | two"}, b.chat.texts("ann"))
	})
}
