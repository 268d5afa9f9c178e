package router_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/announce"
	"sluice/policy/flow"
	"sluice/router/exchange"
	"sluice/router/ledger"
	"sluice/sessions"
)

// A target that is busy for two minutes answers too late for who waits; its answer is in its history all the same, and is announced.
func TestBusyTargetAnswersLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		ann, bob := k.session("ann"), k.session("bob")
		k.settings.Exchanges.MaxTurns = 0
		k.agent.work = func(ctx context.Context, s *sessions.Session, run *sessions.Run) (string, error) {
			if run.Kind == sessions.KindMessage {
				time.Sleep(2 * time.Minute)
			}
			return k.work(ctx, s, run)
		}
		k.hear(in("bob", "2", "something long"))
		synctest.Wait()
		x := k.ask(ann, bob, "how many?")
		begun := time.Now()
		run, err := k.WaitRun(t.Context(), x.First, 30*time.Second)
		require.NoError(t, err)
		require.False(t, run.Status.Terminal())
		require.Equal(t, 30*time.Second, time.Since(begun))
		x = k.over(x.ID)
		require.Equal(t, announce.Announced, x.Outcome)
		require.GreaterOrEqual(t, time.Since(begun), 2*time.Minute)
		record, err := k.store.Session(t.Context(), bob.ID)
		require.NoError(t, err)
		messages, err := k.store.Thread(t.Context(), record)
		require.NoError(t, err)
		var said []string
		for _, m := range messages {
			said = append(said, m.Text())
		}
		require.Contains(t, said, x.Reply)
	})
}

// Two that ask each other at the same moment and wait for each other both come to their ends.
func TestMutualRequestsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		ann, bob := k.session("ann"), k.session("bob")
		k.settings.Exchanges.MaxTurns = 2
		started := make(chan ledger.Exchange, 2)
		k.agent.work = func(ctx context.Context, s *sessions.Session, run *sessions.Run) (string, error) {
			if run.Kind != sessions.KindMessage {
				return k.work(ctx, s, run)
			}
			from, to := ann, bob
			if run.Session == bob.ID {
				from, to = bob, ann
			}
			x, err := k.Exchanges().Start(ctx, exchange.Ask{Kind: announce.Send, Caller: caller(from), Target: to, Text: "from " + from.Key.Bare(), Label: from.Taint, Key: string(run.ID)})
			if err != nil {
				return "", err
			}
			started <- x
			if _, err := k.WaitRun(ctx, x.First, 30*time.Second); err != nil {
				return "", err
			}
			return "asked", nil
		}
		begun := time.Now()
		k.hear(in("ann", "2", "ask bob"))
		k.hear(in("bob", "2", "ask ann"))
		for range 2 {
			x := k.over((<-started).ID)
			require.Equal(t, announce.Announced, x.Outcome, x.Detail)
		}
		require.Less(t, time.Since(begun), 2*time.Minute)
	})
}

// Whatever was stored last: a process that dies and comes back reports a task once, and notes it once.
func TestTaskGoesOnAfterADeathAtAnyCommit(t *testing.T) {
	t.Parallel()
	for n := range 8 {
		synctest.Test(t, func(t *testing.T) {
			k := newTalk(t)
			ann := k.session("ann")
			k.await(1)
			x := k.spawn(ann, "prices")
			for range n {
				synctest.Wait()
				k.restart()
			}
			require.Equal(t, announce.Announced, k.over(x.ID).Outcome)
			k.await(1)
			synctest.Wait()
			require.Len(t, k.chat.texts("ann"), 2)
			require.Len(t, k.notes(ann.ID), 1)
			require.Len(t, k.heard(), 2, "the task and its report")
		})
	}
}

// A sub-agent is never allowed to learn or to read more than who has started it, and knows what its task says.
func TestSubAgentIsBoundByItsRequester(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		parent := k.session("ann")
		parent.Clearance = flow.Internal
		parent.FileAccess = sessions.FileAccess{Read: []string{"docs"}, Write: []string{}}
		child := k.Router.Places().NewSubAgent(parent, "main", "a/b", "prices", flow.NewLabel(flow.Internal, flow.Untrusted))
		require.Equal(t, flow.Internal, child.Clearance)
		require.Equal(t, parent.FileAccess, child.FileAccess)
		require.Equal(t, flow.NewLabel(flow.Internal, flow.Untrusted), child.Taint)
		require.Equal(t, []any{parent.ID, "a/b", "prices"}, []any{child.SpawnedBy, child.Model.Raw(), child.Title.Raw()})
		require.True(t, child.Key.SubAgent())
		require.True(t, child.Route.IsZero())
	})
}

// A requester that may not learn what its sub-agent knows gets no note; nothing of it is in its transcript.
func TestNoteAboveTheClearance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		ann := k.session("ann")
		low := ann
		low.ID, low.Key, low.Clearance, low.Head, low.Revision = sessions.NewID(), "agent:main:http:low", flow.Public, "", 0
		require.NoError(t, k.store.CommitSession(t.Context(), sessions.Change{Create: []sessions.Record{low}}))
		k.agent.begin = func(s *sessions.Session) {
			if s.Record().Key.SubAgent() {
				s.Append(sessions.Message{Role: sessions.RoleAgent, Parts: []sessions.Part{sessions.TextPart("secret", flow.NewLabel(flow.Confidential, flow.Trusted))}})
			}
		}
		x := k.over(k.spawn(low, "prices").ID)
		require.Equal(t, flow.Confidential, x.Label.Level())
		synctest.Wait()
		require.Empty(t, k.notes(low.ID))
		runs, err := k.store.ListRuns(t.Context(), ledger.Query{MaxLevel: flow.Restricted, Session: low.ID})
		require.NoError(t, err)
		require.Equal(t, "the report is above the session's clearance", runs[0].Error)
		record, err := k.store.Session(t.Context(), low.ID)
		require.NoError(t, err)
		require.Equal(t, flow.Public, record.Taint.Level())
	})
}
