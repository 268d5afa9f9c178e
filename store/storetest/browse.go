package storetest

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
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
	over := mortal("busy, and its TTL is over", func(r *sessions.Record) { r.TTL = time.Minute })
	b.enqueue(newRun(over))
	child := mortal("a sub-agent that works", func(r *sessions.Record) { r.TTL, r.SpawnedBy = time.Minute, over })
	b.enqueue(newRun(child))
	mortal("never ran", func(r *sessions.Record) { r.Persistent, r.TTL, r.Head = false, 24*time.Hour, "" })
	ran := mortal("ran once", func(r *sessions.Record) { r.Persistent, r.TTL, r.Head = false, 24*time.Hour, "msg_1" })

	got, err := b.ExpiredSessions(b.ctx, ledger.Expiry{Now: at(100), IdleSince: at(60)}, 10)
	require.NoError(t, err)
	require.ElementsMatch(t, []sessions.ID{idle, past, over, ran}, got)
	got, err = b.ExpiredSessions(b.ctx, ledger.Expiry{Now: at(100), IdleSince: at(60)}, 1)
	require.NoError(t, err)
	require.Len(t, got, 1)
}

// With an age for persistent sessions, those without activity for that long end.
func testExpiredIdle(t *testing.T, b *bundle) {
	session := func(key string, change func(*sessions.Record)) sessions.Record {
		r := newSession("agent:main:" + key)
		change(&r)
		return b.create(r)
	}
	still := func(*sessions.Record) {}
	idle := session("idle", still)
	past := session("past its TTL too", func(r *sessions.Record) { r.TTL = time.Minute })
	session("active", func(r *sessions.Record) { r.LastActivity = at(60) })
	session("ended", func(r *sessions.Record) { r.Ended = at(1) })
	b.enqueue(newRun(session("busy", still).ID))
	failed := newRun(session("spoken to in vain", still).ID)
	failed.Status, failed.Accepted, failed.Finished = sessions.RunFailed, at(60), at(61)
	long := newRun(idle.ID)
	long.Status, long.Finished = sessions.RunFailed, at(1)
	b.enqueue(failed, long)
	waits := session("waits for another", still)
	b.commit(ledger.Change{Exchanges: []ledger.Exchange{newExchange(waits.ID, "sess_x")}})

	got, err := b.ExpiredSessions(b.ctx, ledger.Expiry{Now: at(100), IdleSince: at(95), KeptSince: at(60)}, 10)
	require.NoError(t, err)
	require.ElementsMatch(t, []sessions.ID{idle.ID, past.ID}, got, "each of them once")
	got, err = b.ExpiredSessions(b.ctx, ledger.Expiry{Now: at(100), IdleSince: at(95)}, 10)
	require.NoError(t, err)
	require.Equal(t, []sessions.ID{past.ID}, got, "without an age they are kept for ever")
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
	list := func(q ledger.SessionQuery) (got []sessions.ID) {
		rows, err := b.ListSessions(b.ctx, q)
		require.NoError(t, err)
		for _, r := range rows {
			got = append(got, r.ID)
		}
		return got
	}
	require.Empty(t, list(ledger.SessionQuery{}))
	require.Equal(t, []sessions.ID{ids[3], ids[2], ids[1], ids[0]}, list(ledger.SessionQuery{MaxLevel: flow.Restricted}))
	require.Equal(t, []sessions.ID{ids[2], ids[1], ids[0]}, list(ledger.SessionQuery{MaxLevel: flow.Internal}))
	require.Equal(t, []sessions.ID{ids[2], ids[0]}, list(ledger.SessionQuery{MaxLevel: flow.Internal, Agent: "main"}))
	require.Equal(t, []sessions.ID{ids[3], ids[2]}, list(ledger.SessionQuery{MaxLevel: flow.Restricted, ActiveSince: at(2)}))
	require.Equal(t, []sessions.ID{ids[1], ids[0]}, list(ledger.SessionQuery{MaxLevel: flow.Restricted, IdleSince: at(2)}))
	require.Equal(t, []sessions.ID{ids[1]}, list(ledger.SessionQuery{MaxLevel: flow.Restricted, After: ids[2], Limit: 1}))
	b.commit(ledger.Change{Change: sessions.Change{End: []sessions.End{{ID: ids[1], At: at(9)}}}})
	require.NotContains(t, list(ledger.SessionQuery{MaxLevel: flow.Restricted}), ids[1])
}

// testListSessionKinds checks that the store and [sessions.Key.Kind] mean the same kinds, whatever the main session is called.
func testListSessionKinds(t *testing.T, b *bundle) {
	keys := []sessions.Key{
		"agent:main:home", "agent:main:telegram:group:-1", "agent:main:slack:channel:C1:thread:1", "cron:brief", "hook:ci:x", "node-n1",
		"agent:main:direct:eve", "agent:main:subagent:1", "agent:main:http:cron:1", "agent:main:direct:node-1",
		"agent:main:direct:x:group:1", "agent:main:direct:group:1", "agent:main:slack:direct:x:channel:1", "agent:main:slack:work:direct:x:group:1", "agent:main:slack:group:x:direct:y",
	}
	// Ids may have any words and colons: keys of random parts.
	random := rand.New(rand.NewPCG(1, 2))
	parts := []string{"direct", "group", "channel", "slack", "subagent", "http", "x", "GROUP", "é", "thread", "1"}
	for range 200 {
		key := "agent:main"
		for range 2 + random.IntN(5) {
			key += ":" + parts[random.IntN(len(parts))]
		}
		if parsed, err := sessions.ParseKey(key); err == nil && !slices.Contains(keys, parsed) {
			keys = append(keys, parsed)
		}
	}
	kinds := []sessions.KeyKind{sessions.KindMain, sessions.KindGroup, sessions.KindCron, sessions.KindHook, sessions.KindNode, sessions.KindOther}
	for _, key := range keys {
		b.create(newSession(string(key)))
	}
	list := func(q ledger.SessionQuery) (got []sessions.Key) {
		q.MaxLevel, q.Limit = flow.Restricted, 500
		rows, err := b.ListSessions(b.ctx, q)
		require.NoError(t, err)
		for _, r := range rows {
			got = append(got, r.Key)
		}
		return got
	}
	keyer := sessions.Keyer{MainKey: "home"}
	for i, kind := range kinds {
		for _, other := range kinds[i:] {
			var want []sessions.Key
			for _, key := range keys {
				if k := key.Kind(keyer); k == kind || k == other {
					want = append(want, key)
				}
			}
			require.ElementsMatch(t, want, list(ledger.SessionQuery{Kinds: []sessions.KeyKind{kind, other}}), "%s and %s", kind, other)
		}
	}
	require.Equal(t, []sessions.Key{"agent:main:home"}, list(ledger.SessionQuery{Kind: "main"}))
	for _, kind := range []string{"group", "channel", "direct"} {
		for _, key := range list(ledger.SessionQuery{Kind: kind}) {
			require.Equal(t, kind != "direct", key.Kind(keyer) == sessions.KindGroup, "%s is no %s", key, kind)
		}
	}
	for kind, begin := range map[string]string{"cron": "cron:", "hook": "hook:", "node": "node-", "subagent": "agent:main:subagent:", "api": "agent:main:http:"} {
		var want []sessions.Key
		for _, key := range keys {
			if strings.HasPrefix(string(key), begin) {
				want = append(want, key)
			}
		}
		require.ElementsMatch(t, want, list(ledger.SessionQuery{Kind: kind}), kind)
	}
	require.Equal(t, []sessions.Key{"cron:brief"}, list(ledger.SessionQuery{Kinds: slices.Repeat([]sessions.KeyKind{sessions.KindCron}, 2000)}), "repeated")
}

func testLists(t *testing.T, b *bundle) {
	for i, status := range []sessions.RunStatus{sessions.RunQueued, sessions.RunFailed, sessions.RunDone, sessions.RunFailed} {
		r := newRun("sess_1")
		if i == 3 {
			r.Session, r.EventKey, r.Kind, r.Exchange = "sess_2", "slack/default/1", sessions.KindAsk, "xch_1"
		}
		b.enqueue(r)
		r.Status = status
		b.commit(moveRun(sessions.RunQueued, r))
	}
	runs := func(q ledger.Query) []sessions.Run {
		rows, err := b.ListRuns(b.ctx, q)
		require.NoError(t, err)
		return rows
	}
	every := runs(ledger.Query{MaxLevel: flow.Restricted})
	require.Len(t, every, 4)
	require.Greater(t, every[0].Seq, every[1].Seq)
	require.Equal(t, every[2:3], runs(ledger.Query{MaxLevel: flow.Restricted, After: string(every[1].ID), Limit: 1}))
	for status, n := range map[string]int{"queued": 1, "failed": 2, "done": 1, "running": 0} {
		require.Len(t, runs(ledger.Query{MaxLevel: flow.Restricted, Status: status}), n)
	}
	require.Equal(t, every[:1], runs(ledger.Query{MaxLevel: flow.Restricted, Channel: "slack"}))
	require.Equal(t, every[1:], runs(ledger.Query{MaxLevel: flow.Restricted, Session: "sess_1"}))
	require.Equal(t, every[:1], runs(ledger.Query{MaxLevel: flow.Restricted, Exchange: "xch_1"}))
	require.Empty(t, runs(ledger.Query{MaxLevel: flow.Restricted, Exchange: "xch_2"}))

	for _, status := range []ledger.DeliveryStatus{ledger.DeliveryUnknown, ledger.DeliverySent, ledger.DeliveryUnknown, ledger.DeliveryQueued} {
		d := newDelivery("c|x")
		d.Status, d.Session = status, "sess_1"
		b.commit(ledger.Change{Deliver: []ledger.Delivery{d}})
	}
	rows, err := b.ListDeliveries(b.ctx, ledger.Query{MaxLevel: flow.Restricted, Status: "unknown", Session: "sess_1", Channel: "telegram"})
	require.NoError(t, err)
	require.Len(t, rows, 2)
	elsewhere, err := b.ListDeliveries(b.ctx, ledger.Query{MaxLevel: flow.Restricted, Session: "sess_2"})
	require.NoError(t, err)
	require.Empty(t, elsewhere)
	next, err := b.ListDeliveries(b.ctx, ledger.Query{MaxLevel: flow.Restricted, Status: "unknown", After: string(rows[0].ID)})
	require.NoError(t, err)
	require.Equal(t, rows[1:], next)
	counts, err := b.CountDeliveries(b.ctx, flow.Restricted)
	require.NoError(t, err)
	require.Equal(t, map[ledger.DeliveryStatus]int{ledger.DeliveryUnknown: 2, ledger.DeliveryQueued: 1}, counts)
}

// A list is read only up to its limit of bytes, and its pages together are the whole list.
func testBoundedLists(t *testing.T, b *bundle) {
	const rows, size, bytes = 10, 40 << 10, 100 << 10
	text := strings.Repeat("x", size)
	for i := range rows {
		r := newSession("agent:main:" + string(rune('a'+i)))
		r.LastActivity, r.Metadata = at(i), json.RawMessage(`{"a":"`+text+`"}`)
		session := b.create(r)
		run := newRun(session.ID)
		run.Input.Text = text
		b.enqueue(run)
		d := newDelivery("telegram|default|1")
		d.Text, d.Session = text, session.ID
		p := newApproval(ledger.ApprovalID("apr_"+strconv.Itoa(i)), session.ID, run.ID, i)
		p.Args, p.Created = json.RawMessage(`{"a":"`+text+`"}`), at(i)
		x := newExchange(session.ID, session.ID)
		x.Request, x.Started = text, at(i)
		entry := sessions.AuditEntry{At: at(i), Actor: "gateway", Action: "big", Detail: map[string]string{"a": text}, Label: flow.Bottom()}
		b.commit(ledger.Change{Deliver: []ledger.Delivery{d}, Ask: []ledger.Approval{p}, Exchanges: []ledger.Exchange{x}, Change: sessions.Change{Audit: []sessions.AuditEntry{entry}}})
	}
	q := func(after string, bound *ledger.Bound) ledger.Query {
		return ledger.Query{MaxLevel: flow.Restricted, After: after, Bound: bound, Limit: 200}
	}
	for name, page := range map[string]func(after string, bound *ledger.Bound) []string{
		"sessions": func(after string, bound *ledger.Bound) []string {
			found, err := b.ListSessions(b.ctx, ledger.SessionQuery{MaxLevel: flow.Restricted, After: sessions.ID(after), Bound: bound})
			return idsOf(t, found, err, func(r sessions.Record) string { return string(r.ID) })
		},
		"runs": func(after string, bound *ledger.Bound) []string {
			found, err := b.ListRuns(b.ctx, q(after, bound))
			return idsOf(t, found, err, func(r sessions.Run) string { return string(r.ID) })
		},
		"deliveries": func(after string, bound *ledger.Bound) []string {
			found, err := b.ListDeliveries(b.ctx, q(after, bound))
			return idsOf(t, found, err, func(d ledger.Delivery) string { return string(d.ID) })
		},
		"approvals": func(after string, bound *ledger.Bound) []string {
			found, err := b.ListApprovals(b.ctx, q(after, bound))
			return idsOf(t, found, err, func(p ledger.Approval) string { return string(p.ID) })
		},
		"exchanges": func(after string, bound *ledger.Bound) []string {
			found, err := b.ListExchanges(b.ctx, ledger.ExchangeQuery{MaxLevel: flow.Restricted, After: after, Bound: bound, Limit: 200})
			return idsOf(t, found, err, func(x ledger.Exchange) string { return x.ID })
		},
		"audit": func(after string, bound *ledger.Bound) []string {
			found, err := b.ListAudit(b.ctx, ledger.AuditQuery{MaxLevel: flow.Restricted, Action: "big", After: after, Bound: bound, Limit: 200})
			return idsOf(t, found, err, func(r ledger.AuditRecord) string { return r.ID })
		},
	} {
		whole := page("", nil)
		require.Len(t, whole, rows, name)
		var paged []string
		after := ""
		for {
			bound := ledger.Bound{Bytes: bytes}
			got := page(after, &bound)
			require.LessOrEqual(t, len(got), bytes/size+1, "%s: the row that reaches the bound is the last", name)
			if paged = append(paged, got...); !bound.More {
				break
			}
			require.NotEmpty(t, got, name)
			after = got[len(got)-1]
		}
		require.Equal(t, whole, paged, name)
		one := ledger.Bound{Bytes: 1}
		require.Len(t, page("", &one), 1, "%s: there is always one", name)
		require.True(t, one.More, name)
	}
}

func idsOf[T any](t *testing.T, found []T, err error, id func(T) string) (ids []string) {
	t.Helper()
	require.NoError(t, err)
	for _, f := range found {
		ids = append(ids, id(f))
	}
	return ids
}

func testCancelled(t *testing.T, b *bundle) {
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	r := newRun("sess_1")
	err := b.Commit(ctx, ledger.Change{Change: sessions.Change{Enqueue: []sessions.Run{r}}})
	require.ErrorIs(t, err, context.Canceled)
	_, err = b.Session(ctx, "sess_1")
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, b.Commit(b.ctx, ledger.Change{})) // an empty change is done at once
}

func testClosed(t *testing.T, b *bundle) {
	require.NoError(t, b.Close())
	require.Error(t, b.Commit(b.ctx, ledger.Change{Event: &ledger.Event{Key: "k"}}))
	_, err := b.Event(b.ctx, "k")
	require.Error(t, err)
	require.NoError(t, b.Close())
}

func testReady(t *testing.T, b *bundle) {
	require.NoError(t, b.Ready(b.ctx))
	b.refuse(sessions.ErrConflict, moveRun(sessions.RunQueued, newRun("sess_1")))
	require.NoError(t, b.Ready(b.ctx)) // a refused change is not the database's fault
}

// Old rows are found as quickly as new ones: the deliveries of a run, and the results of a search in a past period.
func testPastDeliveries(t *testing.T, b *bundle) {
	old := newDelivery("c|telegram|default|7|")
	old.Run, old.Text, old.Status, old.Created = "run_old", "needle", ledger.DeliverySent, at(0)
	again := newDelivery("c|telegram|default|7|")
	again.Run, again.ResendOf, again.Status, again.Created = "run_old", old.ID, ledger.DeliverySent, at(100*60)
	later := make([]ledger.Delivery, 20_100)
	for i := range later {
		later[i] = newDelivery("c|telegram|default|8|")
		later[i].Run, later[i].Status, later[i].Created = "run_new", ledger.DeliverySent, at(60*60)
	}
	b.commit(ledger.Change{Deliver: []ledger.Delivery{old}})
	b.commit(ledger.Change{Deliver: later})
	b.commit(ledger.Change{Deliver: []ledger.Delivery{again}})
	list := func(q ledger.Query) (ids []ledger.DeliveryID) {
		q.MaxLevel = flow.Restricted
		found, err := b.ListDeliveries(b.ctx, q)
		require.NoError(t, err)
		for _, d := range found {
			ids = append(ids, d.ID)
		}
		return ids
	}
	require.Equal(t, []ledger.DeliveryID{again.ID, old.ID}, list(ledger.Query{QueryFilter: ledger.QueryFilter{Run: "run_old"}}))
	require.Equal(t, []ledger.DeliveryID{old.ID}, list(ledger.Query{Until: at(1), QueryFilter: ledger.QueryFilter{Text: "needle"}}))
}
