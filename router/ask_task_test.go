package router_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"sluice/announce"
	"sluice/policy/flow"
	"sluice/router"
	"sluice/router/ledger"
)

// A person's task is worked, reported and noted as that of the session's own agent is.
func TestPersonGivesATask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		ann := k.session("ann")
		k.await(1)
		task := router.NewTask{Session: ann, Text: "look", Task: router.Task{Name: "prices"}, Route: ann.Route, Key: "1", Actor: "token:ops"}
		x, err := k.StartTask(t.Context(), task)
		require.NoError(t, err)
		again, err := k.StartTask(t.Context(), task)
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
		for field, task := range map[string]router.NewTask{
			"task: ":    {Session: ann, Text: " "},
			"session: ": {Session: child, Text: "look"},
			"agent: ":   {Session: ann, Text: "look", Agent: "ghost"},
		} {
			_, err := k.StartTask(t.Context(), task)
			var request *router.RequestError
			require.ErrorAs(t, err, &request)
			require.ErrorContains(t, err, field)
		}
		k.gate.mu.Lock()
		k.gate.level = flow.Internal
		k.gate.mu.Unlock()
		_, err := k.StartTask(t.Context(), router.NewTask{Session: low, Text: "look", Route: ann.Route})
		require.ErrorContains(t, err, "session: it may learn at most what is PUBLIC")
	})
}
