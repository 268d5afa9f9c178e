package router_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/announce"
	"sluice/policy/flow"
	"sluice/router/exchange"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/router/request"
	"sluice/sessions"
)

// A person's task is worked, reported and noted as that of the session's own agent is.
func TestPersonGivesATask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		ann := k.session("ann")
		k.await(1)
		task := exchange.NewTask{Session: ann, Text: "look", Task: exchange.Task{Name: "prices"}, Route: ann.Route, Key: "1", Actor: "token:ops"}
		x, err := k.Exchanges().StartTask(t.Context(), task)
		require.NoError(t, err)
		again, err := k.Exchanges().StartTask(t.Context(), task)
		require.NoError(t, err)
		require.Equal(t, x.ID, again.ID, "the same key is the same task")
		require.Equal(t, announce.Announced, k.over(x.ID).Outcome)
		k.await(1)
		require.Contains(t, k.chat.texts("ann")[1], "**Status:** success (prices)")
		child, err := k.store.Session(t.Context(), x.Target.Session)
		require.NoError(t, err)
		require.Equal(t, ann.ID, child.SpawnedBy)
		require.True(t, child.Key.SubAgent())
		asked, err := k.store.ListAudit(t.Context(), ledger.AuditQuery{Action: "exchange.spawn", MaxLevel: flow.Restricted})
		require.NoError(t, err)
		require.Len(t, asked, 1)
		require.Equal(t, "token:ops", asked[0].Actor, "who has asked, and not the agent that is told what came of it")
	})
}

func TestTaskIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		ann := k.session("ann")
		child := ann
		child.Key = "agent:main:subagent:c"
		low := ann
		low.Clearance = flow.Public
		for field, task := range map[string]exchange.NewTask{
			"task: ":    {Session: ann, Text: " "},
			"session: ": {Session: child, Text: "look"},
			"agent: ":   {Session: ann, Text: "look", Agent: "ghost"},
		} {
			_, err := k.Exchanges().StartTask(t.Context(), task)
			var refused *request.Error
			require.ErrorAs(t, err, &refused)
			require.ErrorContains(t, err, field)
		}
		k.gate.mu.Lock()
		k.gate.level = flow.Internal
		k.gate.mu.Unlock()
		_, err := k.Exchanges().StartTask(t.Context(), exchange.NewTask{Session: low, Text: "look", Route: ann.Route})
		require.ErrorContains(t, err, "session: the task is above its clearance, PUBLIC")
	})
}

// A client that repeats a task's key is told of the same task for ever, also when retention has taken out what was said in it.
func TestTaskIsKnownWhenItsTextsAreGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t, func(b *bundle) {
			b.settings.Retention = place.Retention{Runs: 10 * day, Archived: 10 * day}
			b.settings.Exchanges.ArchiveAfter = time.Hour
		})
		ann := k.session("ann")
		task := exchange.NewTask{Session: ann, Text: "look", Route: ann.Route, Key: "api/1", Actor: "operator"}
		x, err := k.Exchanges().StartTask(t.Context(), task)
		require.NoError(t, err)
		unnamed := task
		unnamed.Key = ""
		once, err := k.Exchanges().StartTask(t.Context(), unnamed)
		require.NoError(t, err)
		k.over(x.ID)
		k.over(once.ID)
		for range 2 { // the exchange's sessions go after the runs
			time.Sleep(2 * time.Hour)
			k.rest(9 * day)
			time.Sleep(34 * time.Hour)
		}
		synctest.Wait()
		_, err = k.store.Run(t.Context(), x.First)
		require.ErrorIs(t, err, sessions.ErrNotFound)
		_, err = k.store.Exchange(t.Context(), once.ID)
		require.ErrorIs(t, err, sessions.ErrNotFound, "nobody can ask for it again")

		again, err := k.Exchanges().StartTask(t.Context(), task)
		require.NoError(t, err)
		require.Equal(t, x.ID, again.ID)
		require.Equal(t, announce.Ended, again.Phase)
		require.Empty(t, again.Request+again.Latest)
		synctest.Wait()
		all, err := k.store.ListExchanges(t.Context(), ledger.ExchangeQuery{MaxLevel: flow.Restricted})
		require.NoError(t, err)
		require.Len(t, all, 1, "it is not done twice")
	})
}

// A request whose exchange has gone is refused and not done a second time.
func TestRequestThatIsNotKeptIsNotDoneTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t, func(b *bundle) { b.settings.Retention = place.Retention{Runs: 10 * day} })
		ann, bob := k.session("ann"), k.session("bob")
		ask := exchange.Ask{Kind: announce.Send, Caller: caller(ann), Target: bob, Text: "how many?", Label: ann.Taint, Key: ledger.ToolCallPrefix + "run_1/1"}
		x, err := k.Exchanges().Start(t.Context(), ask)
		require.NoError(t, err)
		k.over(x.ID)
		told := len(k.heard())
		k.rest(10 * day)
		time.Sleep(day)
		synctest.Wait()
		_, err = k.store.Exchange(t.Context(), x.ID)
		require.ErrorIs(t, err, sessions.ErrNotFound)
		_, err = k.Exchanges().Start(t.Context(), ask)
		var refused *request.Error
		require.ErrorAs(t, err, &refused)
		require.ErrorContains(t, err, "retention.runs")
		synctest.Wait()
		require.Len(t, k.heard(), told)
	})
}
