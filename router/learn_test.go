package router_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/manage"
	"sluice/sessions"
)

var strangers = flow.NewLabel(flow.Public, flow.Untrusted)

// What reaches a session beside its runs is known to the run that works in the meantime: it repeats its step, with what
// the session has learnt since.
func TestASessionLearnsWhileItWorks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		var knew []flow.Label
		working, goOn := make(chan struct{}, 2), make(chan struct{})
		b.agent.work = func(_ context.Context, s *sessions.Session, _ *sessions.Run) (string, error) {
			knew = append(knew, s.Taint())
			working <- struct{}{}
			<-goOn
			return "done", nil
		}
		got := b.hear(in("owner", "1", "hello"))
		<-working
		require.NoError(t, b.Learn(t.Context(), got.Session, strangers, "token:ops"))
		close(goOn)
		run := b.ended(got.Run)
		require.Equal(t, sessions.RunDone, run.Status)
		require.Equal(t, []flow.Label{flow.Bottom(), strangers}, knew)
		require.Equal(t, strangers, run.Label)
		b.await(1)
		require.Equal(t, []string{"done"}, b.chat.texts("owner"))

		record, err := b.store.Session(t.Context(), got.Session)
		require.NoError(t, err)
		require.NoError(t, b.Learn(t.Context(), got.Session, strangers, "token:ops"), "it knows that already")
		again, err := b.store.Session(t.Context(), got.Session)
		require.NoError(t, err)
		require.Equal(t, record.Revision, again.Revision)
		trail, err := b.store.ListAudit(t.Context(), ledger.AuditQuery{MaxLevel: flow.Restricted, Action: "session.learn"})
		require.NoError(t, err)
		require.Len(t, trail, 1)
		require.Equal(t, "token:ops", trail[0].Actor)
	})
}

// A session learns nothing above its clearance, and one that has ended nothing at all.
func TestWhatASessionDoesNotLearn(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	low, err := b.CreateSession(t.Context(), manage.NewSession{Clearance: flow.Internal})
	require.NoError(t, err)
	require.ErrorContains(t, b.Learn(t.Context(), low.ID, confidential, "operator"), "clearance is INTERNAL")
	require.NoError(t, b.DeleteSession(t.Context(), low.ID, "operator"))
	require.ErrorIs(t, b.Learn(t.Context(), low.ID, strangers, "operator"), sessions.ErrNotFound)
	stored, err := b.store.Session(t.Context(), low.ID)
	require.NoError(t, err)
	require.Equal(t, flow.Bottom(), stored.Taint)
}
