package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router"
	"sluice/sessions"
)

func testExpired(t *testing.T, b *bundle) {
	mortal := func(key string, change func(*sessions.Record)) sessions.ID {
		r := newSession("agent:main:" + key)
		change(&r)
		return b.create(r).ID
	}
	idle := mortal("idle", func(r *sessions.Record) { r.Persistent = false })
	past := mortal("past", func(r *sessions.Record) { r.TTL, r.LastActivity = time.Minute, at(90) })
	mortal("kept", func(*sessions.Record) {})
	mortal("active", func(r *sessions.Record) { r.Persistent, r.LastActivity = false, at(90) })
	mortal("young", func(r *sessions.Record) { r.TTL = 24 * time.Hour })
	mortal("ended", func(r *sessions.Record) { r.Persistent, r.Ended = false, at(1) })
	busy := mortal("busy", func(r *sessions.Record) { r.Persistent = false })
	b.enqueue(newRun(busy))

	got, err := b.ExpiredSessions(b.ctx, at(100), at(60), 10)
	require.NoError(t, err)
	require.ElementsMatch(t, []sessions.ID{idle, past}, got)
	got, err = b.ExpiredSessions(b.ctx, at(100), at(60), 1)
	require.NoError(t, err)
	require.Len(t, got, 1)
}

func testListSessions(t *testing.T, b *bundle) {
	var ids []sessions.ID
	for i, agent := range []string{"main", "other", "main", "main"} {
		r := newSession("agent:" + agent + ":" + string(rune('a'+i)))
		r.Agent, r.LastActivity = agent, at(i)
		if i == 3 {
			r.Taint = secret
		}
		ids = append(ids, b.create(r).ID)
	}
	list := func(q router.SessionQuery) (got []sessions.ID) {
		rows, err := b.ListSessions(b.ctx, q)
		require.NoError(t, err)
		for _, r := range rows {
			got = append(got, r.ID)
		}
		return got
	}
	require.Empty(t, list(router.SessionQuery{}))
	require.Equal(t, []sessions.ID{ids[3], ids[2], ids[1], ids[0]}, list(router.SessionQuery{MaxLevel: flow.Restricted}))
	require.Equal(t, []sessions.ID{ids[2], ids[1], ids[0]}, list(router.SessionQuery{MaxLevel: flow.Internal}))
	require.Equal(t, []sessions.ID{ids[2], ids[0]}, list(router.SessionQuery{MaxLevel: flow.Internal, Agent: "main"}))
	require.Equal(t, []sessions.ID{ids[3], ids[2]}, list(router.SessionQuery{MaxLevel: flow.Restricted, ActiveSince: at(2)}))
	require.Equal(t, []sessions.ID{ids[1], ids[0]}, list(router.SessionQuery{MaxLevel: flow.Restricted, IdleSince: at(2)}))
	require.Equal(t, []sessions.ID{ids[1]}, list(router.SessionQuery{MaxLevel: flow.Restricted, After: ids[2], Limit: 1}))
	b.commit(router.Change{Change: sessions.Change{End: []sessions.End{{ID: ids[1], At: at(9)}}}})
	require.NotContains(t, list(router.SessionQuery{MaxLevel: flow.Restricted}), ids[1])
}

func testLists(t *testing.T, b *bundle) {
	for i, status := range []sessions.RunStatus{sessions.RunQueued, sessions.RunFailed, sessions.RunDone, sessions.RunFailed} {
		r := newRun("sess_1")
		if i == 3 {
			r.Session, r.EventKey = "sess_2", "slack/default/1"
		}
		b.enqueue(r)
		r.Status = status
		b.commit(moveRun(sessions.RunQueued, r))
	}
	runs := func(q router.Query) []sessions.Run {
		rows, err := b.ListRuns(b.ctx, q)
		require.NoError(t, err)
		return rows
	}
	every := runs(router.Query{MaxLevel: flow.Restricted})
	require.Len(t, every, 4)
	require.Greater(t, every[0].Seq, every[1].Seq)
	require.Equal(t, every[2:3], runs(router.Query{MaxLevel: flow.Restricted, After: string(every[1].ID), Limit: 1}))
	for status, n := range map[string]int{"queued": 1, "failed": 2, "done": 1, "running": 0} {
		require.Len(t, runs(router.Query{MaxLevel: flow.Restricted, Status: status}), n)
	}
	require.Equal(t, every[:1], runs(router.Query{MaxLevel: flow.Restricted, Channel: "slack"}))
	require.Equal(t, every[1:], runs(router.Query{MaxLevel: flow.Restricted, Session: "sess_1"}))

	for _, status := range []router.DeliveryStatus{router.DeliveryUnknown, router.DeliverySent, router.DeliveryUnknown, router.DeliveryQueued} {
		d := newDelivery("c|x")
		d.Status, d.Session = status, "sess_1"
		b.commit(router.Change{Deliver: []router.Delivery{d}})
	}
	rows, err := b.ListDeliveries(b.ctx, router.Query{MaxLevel: flow.Restricted, Status: "unknown", Session: "sess_1", Channel: "telegram"})
	require.NoError(t, err)
	require.Len(t, rows, 2)
	next, err := b.ListDeliveries(b.ctx, router.Query{MaxLevel: flow.Restricted, Status: "unknown", After: string(rows[0].ID)})
	require.NoError(t, err)
	require.Equal(t, rows[1:], next)
	counts, err := b.CountDeliveries(b.ctx, flow.Restricted)
	require.NoError(t, err)
	require.Equal(t, map[router.DeliveryStatus]int{router.DeliveryUnknown: 2, router.DeliveryQueued: 1}, counts)
}

func testCancelled(t *testing.T, b *bundle) {
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	r := newRun("sess_1")
	err := b.Commit(ctx, router.Change{Change: sessions.Change{Enqueue: []sessions.Run{r}}})
	require.ErrorIs(t, err, context.Canceled)
	_, err = b.Session(ctx, "sess_1")
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, b.Commit(b.ctx, router.Change{})) // what changes nothing is done at once
}

func testClosed(t *testing.T, b *bundle) {
	require.NoError(t, b.Close())
	require.Error(t, b.Commit(b.ctx, router.Change{Event: &router.Event{Key: "k"}}))
	_, err := b.Event(b.ctx, "k")
	require.Error(t, err)
	require.NoError(t, b.Close())
}

func testReady(t *testing.T, b *bundle) {
	require.NoError(t, b.Ready(b.ctx))
	b.refuse(sessions.ErrConflict, moveRun(sessions.RunQueued, newRun("sess_1")))
	require.NoError(t, b.Ready(b.ctx)) // a refused change is no fault of the database
}
