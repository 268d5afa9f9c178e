package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/announce"
	"sluice/policy/flow"
	"sluice/router/exchange"
	"sluice/router/ledger"
	"sluice/sessions"
)

func newExchange(requester, target sessions.ID) ledger.Exchange {
	run := sessions.NewRunID()
	x := ledger.Exchange{
		Revision: 1, First: run, Run: run, Route: route, Label: secret,
		Chain: sessions.Chain{ID: "chn_1", Hops: []sessions.ID{"sess_0", requester}},
	}
	x.Exchange = announce.Exchange{
		ID: exchange.NewID(), Kind: announce.Send, Request: "wie viele? ünï\n\"7\"", MaxTurns: 5, Phase: announce.Asking, Started: start,
		Requester: announce.Party{Session: requester, Key: "agent:main:main", Agent: "main"},
		Target:    announce.Party{Session: target, Key: "agent:other:main", Agent: "other"},
	}
	return x
}

func (b *bundle) exchange(id string) ledger.Exchange {
	b.t.Helper()
	x, err := b.Exchange(b.ctx, id)
	require.NoError(b.t, err)
	return x
}

func storeExchange(x ...ledger.Exchange) ledger.Change { return ledger.Change{Exchanges: x} }

func testExchangeRoundTrip(t *testing.T, b *bundle) {
	x := newExchange("sess_1", "sess_2")
	b.commit(storeExchange(x))
	require.Equal(t, x, b.exchange(x.ID))

	x.Revision, x.Run, x.Label = 2, sessions.NewRunID(), flow.Top()
	x.Phase, x.Turn, x.Reply, x.Latest, x.Status = announce.Replying, 1, "seven", "seven", sessions.RunDone
	x.Usage, x.Runtime = sessions.Usage{InputTokens: 7, OutputTokens: 3}, 61*time.Second
	b.commit(storeExchange(x))
	require.Equal(t, x, b.exchange(x.ID))

	x.Revision, x.Exchange = 3, announce.Stop(x.Exchange, "a person stopped it", at(3))
	b.commit(storeExchange(x))
	require.Equal(t, x, b.exchange(x.ID))

	task := newExchange("sess_1", "sess_3")
	task.Kind, task.Name, task.Discard = announce.Spawn, "prices", true
	b.commit(storeExchange(task))
	require.Equal(t, task, b.exchange(task.ID))
	_, err := b.Exchange(b.ctx, "xch_none")
	require.ErrorIs(t, err, sessions.ErrNotFound)
}

// testExchangeRevision: if two take the same step, one gets a conflict, and nothing else of its change is stored.
func testExchangeRevision(t *testing.T, b *bundle) {
	x := newExchange("sess_1", "sess_2")
	b.commit(storeExchange(x))
	b.refuse(sessions.ErrDuplicate, storeExchange(x))
	left, right := x, x
	left.Revision, left.Latest = 2, "left"
	right.Revision, right.Latest = 2, "right"
	b.commit(storeExchange(left))
	run := newRun("sess_2")
	lost := storeExchange(right)
	lost.Enqueue = []sessions.Run{run}
	b.refuse(sessions.ErrConflict, lost)
	require.Equal(t, left, b.exchange(x.ID))
	_, err := b.Run(b.ctx, run.ID)
	require.ErrorIs(t, err, sessions.ErrNotFound)
	left.Revision = 4
	b.refuse(sessions.ErrConflict, storeExchange(left))
	unknown := newExchange("sess_1", "sess_2")
	unknown.Revision = 2
	b.refuse(sessions.ErrConflict, storeExchange(unknown))
}

func testChains(t *testing.T, b *bundle) {
	_, err := b.Chain(b.ctx, "chn_1")
	require.ErrorIs(t, err, sessions.ErrNotFound)
	b.commit(ledger.Change{Chains: []ledger.ChainUse{{ID: "chn_1", Steps: 1, Started: start}, {ID: "chn_2", Steps: 9, Started: at(9)}}})
	b.commit(ledger.Change{Chains: []ledger.ChainUse{{ID: "chn_1", Tokens: 40, Started: at(5)}, {ID: "chn_1", Steps: 1, Tokens: 2, Started: at(6)}}})
	use, err := b.Chain(b.ctx, "chn_1")
	require.NoError(t, err)
	require.Equal(t, ledger.ChainUse{ID: "chn_1", Steps: 2, Tokens: 42, Started: start}, use, "it began once")
	done := make(chan error)
	for range 8 { // several replicas
		go func() {
			done <- b.Commit(b.ctx, ledger.Change{Chains: []ledger.ChainUse{{ID: "chn_1", Steps: 1, Tokens: 10, Started: at(7)}}})
		}()
	}
	for range 8 {
		require.NoError(t, <-done)
	}
	use, err = b.Chain(b.ctx, "chn_1")
	require.NoError(t, err)
	require.Equal(t, ledger.ChainUse{ID: "chn_1", Steps: 10, Tokens: 122, Started: start}, use)
}

func (b *bundle) exchanges(q ledger.ExchangeQuery) (ids []string) {
	b.t.Helper()
	list, err := b.ListExchanges(b.ctx, q)
	require.NoError(b.t, err)
	for _, x := range list {
		ids = append(ids, x.ID)
	}
	return ids
}

func testListExchanges(t *testing.T, b *bundle) {
	var ids []string
	for i, c := range []struct {
		requester, target sessions.ID
		kind              announce.Kind
		over              bool
	}{
		{"sess_1", "sess_2", announce.Send, false},
		{"sess_2", "sess_1", announce.Send, true},
		{"sess_1", "sess_3", announce.Spawn, true},
		{"sess_1", "sess_4", announce.Spawn, false},
	} {
		x := newExchange(c.requester, c.target)
		x.Kind, x.Started = c.kind, at(i)
		if c.over {
			x.Exchange = announce.Stop(x.Exchange, "over", at(9))
		}
		b.commit(storeExchange(x))
		ids = append(ids, x.ID)
	}
	require.Equal(t, []string{ids[3], ids[2], ids[1], ids[0]}, b.exchanges(ledger.ExchangeQuery{MaxLevel: flow.Restricted}), "the newest first")
	require.Equal(t, []string{ids[3], ids[2], ids[0]}, b.exchanges(ledger.ExchangeQuery{MaxLevel: flow.Restricted, Requester: "sess_1"}))
	require.Equal(t, []string{ids[1]}, b.exchanges(ledger.ExchangeQuery{MaxLevel: flow.Restricted, Target: "sess_1"}))
	require.Equal(t, []string{ids[3], ids[2]}, b.exchanges(ledger.ExchangeQuery{MaxLevel: flow.Restricted, Kind: announce.Spawn}))
	require.Equal(t, []string{ids[3], ids[0]}, b.exchanges(ledger.ExchangeQuery{MaxLevel: flow.Restricted, Open: true}))
	require.Equal(t, []string{ids[3]}, b.exchanges(ledger.ExchangeQuery{MaxLevel: flow.Restricted, Requester: "sess_1", Kind: announce.Spawn, Open: true}))
	require.Equal(t, []string{ids[3], ids[2]}, b.exchanges(ledger.ExchangeQuery{MaxLevel: flow.Restricted, Limit: 2}))
	require.Empty(t, b.exchanges(ledger.ExchangeQuery{MaxLevel: flow.Restricted, Requester: "sess_1", Target: "sess_9"}))
}

// testListExchangesProperty compares random queries with a filter in memory.
func testListExchangesProperty(t *testing.T, b *bundle) {
	who := []sessions.ID{"sess_1", "sess_2", "sess_3"}
	kinds := []announce.Kind{announce.Send, announce.Spawn}
	var stored []ledger.Exchange
	rapid.Check(t, func(t *rapid.T) {
		x := newExchange(rapid.SampledFrom(who).Draw(t, "requester"), rapid.SampledFrom(who).Draw(t, "target"))
		x.Kind, x.Started = rapid.SampledFrom(kinds).Draw(t, "kind"), at(rapid.IntRange(0, 20).Draw(t, "minute"))
		if rapid.Bool().Draw(t, "over") {
			x.Exchange = announce.Stop(x.Exchange, "over", at(30))
		}
		if err := b.Commit(b.ctx, storeExchange(x)); err != nil {
			t.Fatal(err)
		}
		stored = append(stored, x)
		q := ledger.ExchangeQuery{
			MaxLevel:  flow.Restricted,
			Requester: rapid.SampledFrom(append(who, "")).Draw(t, "of requester"), Target: rapid.SampledFrom(append(who, "")).Draw(t, "of target"),
			Kind: rapid.SampledFrom(append(kinds, "")).Draw(t, "of kind"), Open: rapid.Bool().Draw(t, "open"), Limit: rapid.IntRange(0, 210).Draw(t, "limit"),
		}
		if got, want := b.exchanges(q), picked(stored, q); !slices.Equal(got, want) {
			t.Fatalf("%+v: got %v, want %v", q, got, want)
		}
	})
}

// picked filters as a list must, in the simplest way.
func picked(stored []ledger.Exchange, q ledger.ExchangeQuery) (ids []string) {
	var fit []ledger.Exchange
	for _, x := range stored {
		if (q.Requester == "" || x.Requester.Session == q.Requester) && (q.Target == "" || x.Target.Session == q.Target) &&
			(q.Kind == "" || x.Kind == q.Kind) && (!q.Open || x.Phase != announce.Ended) {
			fit = append(fit, x)
		}
	}
	slices.SortFunc(fit, func(a, b ledger.Exchange) int {
		if c := b.Started.Compare(a.Started); c != 0 {
			return c
		}
		return strings.Compare(b.ID, a.ID)
	})
	most := q.Limit
	if most == 0 {
		most = 50
	}
	for _, x := range fit[:min(len(fit), most, 200)] {
		ids = append(ids, x.ID)
	}
	return ids
}

func newTodo(session sessions.ID, n int) sessions.Todo {
	return sessions.Todo{
		ID: sessions.TodoID(fmt.Sprintf("todo_%s_%012d", session, n)), Session: session, Text: fmt.Sprint("ünï ", n), Status: sessions.TodoOpen,
		Label: secret, Created: at(n / 2), Place: n % 2, Updated: at(n / 2),
	}
}

func (b *bundle) todos(id sessions.ID) []sessions.Todo {
	b.t.Helper()
	list, err := b.Todos(b.ctx, id)
	require.NoError(b.t, err)
	return list
}

func testTodos(t *testing.T, b *bundle) {
	mine, other := b.create(newSession("agent:main:main")).ID, b.create(newSession("agent:main:other")).ID
	change := func(c sessions.TodoChange) error { return b.ChangeTodos(b.ctx, c) }
	items := []sessions.Todo{newTodo(mine, 0), newTodo(mine, 1), newTodo(mine, 2)}
	require.NoError(t, change(sessions.TodoChange{Session: mine, Add: []sessions.Todo{items[2], items[1], items[0]}}))
	require.NoError(t, change(sessions.TodoChange{Session: other, Add: []sessions.Todo{newTodo(other, 0)}}))
	require.Equal(t, items, b.todos(mine), "the oldest first")

	again := items[0]
	again.Text = "something else"
	require.NoError(t, change(sessions.TodoChange{Session: mine, Add: []sessions.Todo{again}}))
	require.Equal(t, items, b.todos(mine), "what is there already stays")

	items[1].Text, items[1].Status, items[1].Label, items[1].Updated = "done it", sessions.TodoDone, flow.Top(), at(9)
	require.NoError(t, change(sessions.TodoChange{Session: mine, Update: items[1:2], Remove: []sessions.TodoID{items[2].ID, "todo_none"}}))
	require.Equal(t, items[:2], b.todos(mine))

	foreign := newTodo(other, 0)
	foreign.Text = "not yours"
	require.ErrorIs(t, change(sessions.TodoChange{Session: mine, Update: []sessions.Todo{foreign}, Remove: []sessions.TodoID{items[0].ID}}), sessions.ErrNotFound)
	require.NoError(t, change(sessions.TodoChange{Session: mine, Remove: []sessions.TodoID{foreign.ID}}))
	require.Equal(t, items[:2], b.todos(mine), "all or nothing")
	require.Len(t, b.todos(other), 1)

	b.commit(ledger.Change{Change: sessions.Change{End: []sessions.End{{ID: mine, At: at(10)}}}})
	require.Empty(t, b.todos(mine), "they end with their session")
	require.ErrorIs(t, change(sessions.TodoChange{Session: mine, Add: items[:1]}), sessions.ErrNotFound)
	require.Len(t, b.todos(other), 1)
}
