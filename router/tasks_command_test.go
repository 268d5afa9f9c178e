package router_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"sluice/announce"
	"sluice/policy/flow"
	"sluice/router/exchange"
	"sluice/router/ledger"
	"sluice/sessions"
)

// spawn gives a task to a sub-agent of a session.
func (k *talk) spawn(from sessions.Record, name string, change ...func(*exchange.Ask)) ledger.Exchange {
	k.t.Helper()
	a := exchange.Ask{
		Kind: announce.Spawn, Caller: caller(from), Target: k.Router.Places().NewSubAgent(from, "main", "", name, from.Taint), Create: true,
		Text: "look at " + name, Label: from.Taint, Key: "spawn/" + name, Task: exchange.Task{Name: name},
	}
	for _, f := range change {
		f(&a)
	}
	x, err := k.Exchanges().Start(context.Background(), a)
	require.NoError(k.t, err)
	return x
}

// A sub-agent's session is worked in the partition of its own id, whatever partition its requester has.
func TestSubAgentHasItsOwnPartition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		ann := k.session("ann")
		x := k.over(k.spawn(ann, "prices", func(a *exchange.Ask) { a.Target.Partition = partitions + 1 }).ID)
		child, err := k.store.Session(t.Context(), x.Target.Session)
		require.NoError(t, err)
		require.Equal(t, sessions.SessionLane(child.ID).Partition(partitions), child.Partition)
	})
}

// hold lets sub-agents work until they are stopped.
func (k *talk) hold() {
	k.agent.work = func(ctx context.Context, s *sessions.Session, run *sessions.Run) (string, error) {
		if run.Kind != sessions.KindTask {
			return k.work(ctx, s, run)
		}
		<-ctx.Done()
		return "", context.Cause(ctx)
	}
}

func TestSubAgentsAreListedAndStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		ann, bob := k.session("ann"), k.session("bob")
		n := 1
		say := func(text string) string {
			n++
			return k.hear(in("ann", fmt.Sprint(n), text)).Notice
		}
		require.Equal(t, "There are no sub-agents here.", say("/subagents"))
		done := k.over(k.spawn(ann, "prices").ID)
		k.hold()
		ships, cats := k.spawn(ann, "ships"), k.spawn(ann, "cats")
		foreign := k.spawn(bob, "foreign")
		synctest.Wait()
		short := func(x ledger.Exchange) string { return x.ID[len(x.ID)-8:] }
		list := say("/subagents")
		require.Contains(t, list, "- `"+short(ships)+"` `ships`, agent main: started 0s ago")
		require.Contains(t, list, "- `"+short(done)+"` `prices`, agent main: done ")
		require.NotContains(t, list, "foreign")

		require.Equal(t, "Stopped 1 sub-agent.", say("/subagents stop "+short(ships)))
		require.Equal(t, sessions.RunAborted, k.ended(ships.First).Status)
		x, err := k.store.Exchange(t.Context(), ships.ID)
		require.NoError(t, err)
		require.Equal(t, announce.Stopped, x.Outcome)
		require.Equal(t, "a person stopped it", x.Detail)
		require.Contains(t, say("/subagents list"), "- `"+short(ships)+"` `ships`, agent main: stopped ")

		for _, id := range []string{short(foreign), short(ships), "nonsense", "77", "x", ships.ID[len(ships.ID)-1:], cats.ID[len(cats.ID)-3:]} {
			require.Contains(t, say("/subagents stop "+id), "No running sub-agent has that id", id)
		}
		for _, text := range []string{"/subagents stop", "/subagents kill x"} {
			require.Contains(t, say(text), "Usage: ", text)
		}
		require.Equal(t, "Stopped all sub-agents of this conversation.", say("/subagents stop all"))
		require.Equal(t, sessions.RunAborted, k.ended(cats.First).Status)
		run, err := k.store.Run(t.Context(), foreign.First)
		require.NoError(t, err)
		require.Equal(t, sessions.RunRunning, run.Status, "another session's goes on")
		require.NoError(t, k.AbortSession(t.Context(), bob.ID, "operator"))
		k.ended(foreign.First)
		require.Equal(t, "There are no sub-agents here.", k.hear(in("cid", "1", "/subagents")).Notice)
	})
}

// That there is a task, who works on it and what it is called are as secret as what it was told: nothing of it is shown where that may not be said.
func TestTasksStaySecret(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		ann := k.session("ann")
		k.hold()
		x := k.spawn(ann, "takeover", func(a *exchange.Ask) { a.Label = flow.NewLabel(flow.Confidential, flow.Trusted) })
		synctest.Wait()
		say := func(n, text string) string { return k.hear(in("ann", n, text)).Notice }
		require.Equal(t, "There are no sub-agents here.", say("2", "/subagents"))
		require.Contains(t, say("3", "/subagents stop "+x.ID[len(x.ID)-8:]), "No running sub-agent has that id")
		require.Equal(t, "Stopped all sub-agents of this conversation.", say("4", "/subagents stop all"))
		require.Equal(t, sessions.RunAborted, k.ended(x.First).Status)
		require.Equal(t, "Stopped all sub-agents of this conversation.", say("5", "/subagents stop all"), "the same where none is at work")
		require.NotContains(t, say("6", "/stop"), "1")
	})
}
