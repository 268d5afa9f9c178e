package storetest

import (
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/spending"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

func newCall(id string, started int) spending.Call {
	return spending.Call{
		ID: id, Origin: spending.Origin{Run: "run_1", Session: "ses_1", Agent: "main", Person: "telegram:5", Job: "brief", Unattended: true, Partition: 3},
		Provider: "openai", Key: "default", Model: "medium/fine", Level: flow.Internal, Started: at(started), Latency: time.Second, Outcome: spending.OutcomeOK,
		Amount: spending.Amount{Usage: sessions.Usage{InputTokens: 10, OutputTokens: 5, CachedTokens: 4, WrittenTokens: 2, ThinkingTokens: 1}, Pictures: 1, Audio: time.Minute},
		Cost:   1500, Currency: "USD", Priced: true,
	}
}

func newBudget(name string, limit int64) *spending.Budget {
	return &spending.Budget{Name: name, Scope: spending.ScopeGateway, Limit: limit, Unit: "USD", Per: spending.PerDay, AtLimit: spending.RuleStop}
}

// reservation holds an amount in each budget.
func reservation(t *testing.T, call spending.Call, held spending.Money, budgets ...*spending.Budget) *spending.Posting {
	t.Helper()
	price := spending.Price{Input: 1, Currency: "USD"}
	p := &spending.Posting{Call: call}
	require.NoError(t, p.Plan(budgets, &price, spending.Amount{}))
	p.Call.Cost = held
	for i := range p.Entries {
		p.Entries[i].Held = int64(held)
	}
	return p
}

// settled is the end of a reservation.
func settled(p *spending.Posting, call spending.Call) *spending.Posting {
	end := &spending.Posting{Call: call, Open: p.Open, Entries: slices.Clone(p.Entries)}
	end.Settle()
	return end
}

func testSpendingSums(t *testing.T, b *bundle) {
	plain, other, secretCall := newCall("call_1", 0), newCall("call_2", 60), newCall("call_3", 3*86400)
	other.Agent, other.Priced, other.Currency, other.Cost, other.Outcome, other.Assumed = "coder", false, "", 0, "cut", true
	secretCall.Level, secretCall.Session = flow.Restricted, "ses_2"
	b.commit(ledger.Change{Change: sessions.Change{Postings: []*spending.Posting{{Call: plain}, {Call: other}, {Call: secretCall}}}})
	list := func(q spending.Query) []spending.Sum {
		if !q.MaxLevel.Valid() {
			q.MaxLevel = flow.Restricted
		}
		got, err := b.Sums(b.ctx, q)
		require.NoError(t, err)
		return got
	}
	amount := func(n int) spending.Amount {
		a := plain.Amount
		return spending.Amount{Usage: sessions.Usage{InputTokens: n * a.InputTokens, OutputTokens: n * a.OutputTokens, CachedTokens: n * a.CachedTokens, WrittenTokens: n * a.WrittenTokens, ThinkingTokens: n * a.ThinkingTokens}, Pictures: n, Audio: time.Duration(n) * a.Audio}
	}
	unknown := spending.Sum{Calls: 1, Failed: 1, Assumed: 1, Amount: amount(1)}
	known := spending.Sum{Calls: 2, Amount: amount(2), Cost: 3000, Currency: "USD"}
	require.Equal(t, []spending.Sum{known, unknown}, list(spending.Query{}), "an unknown price is a sum of its own")
	require.Empty(t, list(spending.Query{Model: "openai/other"}))
	require.Equal(t, []spending.Sum{{Calls: 1, Amount: amount(1), Cost: 1500, Currency: "USD", Model: "openai/medium/fine", Day: day(start)}},
		list(spending.Query{By: []spending.Dimension{spending.ByModel, spending.ByDay}, Model: "openai/medium/fine", Agent: "main", Until: at(61)}))
	require.Equal(t, []spending.Sum{{Agent: "main", Calls: 1, Amount: amount(1), Cost: 1500, Currency: "USD"}}, list(spending.Query{By: []spending.Dimension{spending.ByAgent}, Since: at(61)}))

	// Rows above a level do not exist, nor do those of a session that has risen above it.
	require.Empty(t, list(spending.Query{MaxLevel: flow.Internal}), "their sessions are lost, and so is their level")
	low, high := b.create(newSession("low")), b.create(newSession("high"))
	plain.ID, plain.Session = "call_4", low.ID
	other.ID, other.Session = "call_5", high.ID
	plain.Level, other.Level = flow.Public, flow.Public
	high.Taint = flow.NewLabel(flow.Restricted, flow.Trusted)
	low.Taint = flow.Bottom()
	b.commit(ledger.Change{Change: sessions.Change{Save: []sessions.Record{low, high}, Postings: []*spending.Posting{{Call: plain}, {Call: other}}}})
	require.Equal(t, []spending.Sum{{Session: string(low.ID), Calls: 1, Amount: amount(1), Cost: 1500, Currency: "USD"}},
		list(spending.Query{By: []spending.Dimension{spending.BySession}, MaxLevel: flow.Internal}))

	// So it is with calls one by one.
	recent := func(most flow.Level, since, limit int) (all []spending.CallPoint) {
		got, err := b.CallsSince(b.ctx, most, at(since), limit)
		require.NoError(t, err)
		for _, p := range got {
			p.Started = p.Started.UTC()
			all = append(all, p)
		}
		return all
	}
	point := spending.CallPoint{Agent: "main", Started: at(0).UTC(), Latency: time.Second, Input: 10, Output: 5}
	failed := point
	failed.Agent, failed.Started, failed.Failed = "coder", at(60).UTC(), true
	secret := point
	secret.Started = at(3 * 86400).UTC()
	require.Equal(t, []spending.CallPoint{secret, failed, failed}, recent(flow.Restricted, 1, 10), "newest first")
	require.Equal(t, []spending.CallPoint{secret, failed}, recent(flow.Restricted, 0, 2))
	require.Equal(t, []spending.CallPoint{point}, recent(flow.Internal, 0, 10))
	testCallsOfRun(t, b, point, &plain, &other)

	// When their rows have become a day, they are as hidden as before.
	seen := spending.Query{By: []spending.Dimension{spending.ByDay, spending.ByAgent}, MaxLevel: flow.Internal}
	everything := seen
	everything.MaxLevel = flow.Restricted
	before, all := list(seen), list(everything)
	b.prune(ledger.PruneUsage, at(9*86400), 5)
	require.Empty(t, list(spending.Query{Session: string(low.ID)}))
	require.Equal(t, before, list(seen))
	require.Equal(t, all, list(everything))
}

// testCallsOfRun: plain and other are calls; point is what is listed of plain in another list.
func testCallsOfRun(t *testing.T, b *bundle, point spending.CallPoint, plain, other *spending.Call) {
	t.Helper()
	of := func(most flow.Level, c *spending.Call, run sessions.RunID) []spending.CallPoint {
		got, err := b.CallsOfRun(b.ctx, most, c.Session, run, 10)
		require.NoError(t, err)
		for i := range got {
			got[i].Started = got[i].Started.UTC()
		}
		return got
	}
	ofRun := point
	ofRun.Model, ofRun.Cached = plain.Provider+"/"+plain.Model, plain.Amount.CachedTokens
	require.Equal(t, []spending.CallPoint{ofRun}, of(flow.Internal, plain, plain.Run))
	require.Empty(t, of(flow.Internal, plain, "run_other"))
	require.Empty(t, of(flow.Internal, other, other.Run), "its session is above the level")
	require.Len(t, of(flow.Restricted, other, other.Run), 1)
}

func day(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

func testSpendingRetention(t *testing.T, b *bundle) {
	by := []spending.Dimension{spending.ByDay, spending.ByAgent, spending.ByModel, spending.ByPerson, spending.ByJob, spending.ByProvider, spending.ByKey}
	for i, id := range []string{"call_1", "call_2", "call_3"} {
		c := newCall(id, i*86400)
		if i == 1 {
			c.Started = at(60)
			c.Priced, c.Currency, c.Cost, c.Outcome = false, "", 0, "cut"
		}
		b.commit(ledger.Change{Change: sessions.Change{Postings: []*spending.Posting{{Call: c}}}})
	}
	budget := newBudget("house", 10_000)
	open := newCall("call_4", 0)
	require.NoError(t, b.Post(b.ctx, reservation(t, open, 500, budget)))
	cost, err := b.RunCost(b.ctx, open.Session, open.Run)
	require.NoError(t, err)
	require.Equal(t, []spending.Sum{{Calls: 1}, {Calls: 2, Cost: 3000, Currency: "USD"}}, cost, "a call that has not ended does not count: its end would count again")
	ended, err := b.CallsSince(b.ctx, flow.Restricted, at(-1), 10)
	require.NoError(t, err)
	require.Len(t, ended, 3)
	before, err := b.Sums(b.ctx, spending.Query{By: by, MaxLevel: flow.Restricted})
	require.NoError(t, err)
	require.Len(t, before, 3)
	b.prune(ledger.PruneUsage, at(86400), 2)
	b.prune(ledger.PruneUsage, at(86400), 0)
	after, err := b.Sums(b.ctx, spending.Query{By: by, MaxLevel: flow.Restricted})
	require.NoError(t, err)
	require.Equal(t, before, after, "the sums of the days stay; a call that has not ended does not count")
	require.NoError(t, b.Post(b.ctx, settled(reservation(t, open, 500, budget), open)))
	b.prune(ledger.PruneUsage, at(2*86400), 2) // the call, and the budget of its day
	_, err = b.Sums(b.ctx, spending.Query{By: by, Session: "ses_1", MaxLevel: flow.Restricted})
	require.NoError(t, err)
	b.prune(ledger.PruneUsage, at(9*86400), 1)
	days, err := b.Sums(b.ctx, spending.Query{By: []spending.Dimension{spending.ByDay}, MaxLevel: flow.Restricted})
	require.NoError(t, err)
	require.Len(t, days, 3)
	require.Equal(t, 2, days[0].Calls, "they are added to the sums that are there")
	require.Equal(t, spending.Money(3000), days[0].Cost)
}

func testSpendingBudgets(t *testing.T, b *bundle) {
	house, small := newBudget("house", 1000), newBudget("small", 600)
	first := newCall("call_1", 0)
	held := reservation(t, first, 600, house, small)
	require.NoError(t, b.Post(b.ctx, held))
	state := func(budget *spending.Budget) spending.State {
		account := budget.Account("", start)
		states, err := b.States(b.ctx, []spending.Account{account, budget.Account("none", start)})
		require.NoError(t, err)
		require.Len(t, states, 1)
		return states[account.ID]
	}
	require.Equal(t, spending.State{Held: 600}, state(house))

	// One that does not fit into one budget changes none, and is no call.
	require.ErrorIs(t, b.Post(b.ctx, reservation(t, newCall("call_2", 0), 1, house, small)), sessions.ErrConflict)
	require.Equal(t, spending.State{Held: 600}, state(house))
	require.NoError(t, b.Post(b.ctx, reservation(t, newCall("call_3", 0), 400, house)))
	require.ErrorIs(t, b.Post(b.ctx, reservation(t, newCall("call_4", 0), 1, house)), sessions.ErrConflict)

	// The end gives back what was not used, once.
	first.Cost = 100
	b.commit(ledger.Change{Change: sessions.Change{Postings: []*spending.Posting{settled(held, first)}}})
	require.Equal(t, spending.State{Held: 400, Spent: 100}, state(house))
	require.Equal(t, spending.State{Spent: 100}, state(small))
	b.refuse(sessions.ErrConflict, ledger.Change{Change: sessions.Change{Postings: []*spending.Posting{settled(held, first)}}})
	require.Equal(t, spending.State{Held: 400, Spent: 100}, state(house))

	// An end is stored whatever the call has cost.
	dear := newCall("call_5", 0)
	p := reservation(t, dear, 500, house)
	require.NoError(t, b.Post(b.ctx, p))
	dear.Cost = 5000
	require.NoError(t, b.Post(b.ctx, settled(p, dear)))
	require.Equal(t, spending.State{Held: 400, Spent: 5100}, state(house))

	// An owner may add to a limit.
	account := house.Account("", start)
	require.ErrorIs(t, b.Post(b.ctx, reservation(t, newCall("call_6", 0), 100, house)), sessions.ErrConflict)
	asked := b.newApproval(ledger.Approval{ID: "apr_raise", Terms: sessions.Terms{Raise: &spending.Raise{Account: account, Extra: 4600, Shown: "4600 USD", When: "today"}}})
	require.Equal(t, "4600 USD more for budget house today", asked.Terms.Raise.String())
	b.commit(ledger.Change{Raises: []spending.Raise{*asked.Terms.Raise, {Account: small.Account("new", start), Extra: 5}}})
	require.NoError(t, b.Post(b.ctx, reservation(t, newCall("call_6", 0), 100, house)))
	require.Equal(t, spending.State{Held: 500, Spent: 5100, Extra: 4600}, state(house))

	for least, want := range map[int64]bool{500: true, 501: false} {
		near, err := b.Nearly(b.ctx, "house", account.Start, least)
		require.NoError(t, err)
		require.Equal(t, want, near, "what is held does not count, and what was added to the limit counts less")
	}
	near, err := b.Nearly(b.ctx, "house", account.Start.Add(-24*time.Hour), 1)
	require.NoError(t, err)
	require.False(t, near)

	standings, err := b.Standings(b.ctx, "house", account.Start, 1, 10)
	require.NoError(t, err)
	require.Equal(t, []spending.Standing{{Account: account, State: state(house)}}, standings)
	standings, err = b.Standings(b.ctx, "house", account.Start, 5601, 10)
	require.NoError(t, err)
	require.Empty(t, standings)
}

func testSpendingLost(t *testing.T, b *bundle) {
	budget := newBudget("house", 10_000)
	b.take(3, "nobody")
	epoch := b.take(3, "one")
	mine, old, loose, late := newCall("call_1", 0), newCall("call_2", 1), newCall("call_3", 2), newCall("call_4", 100)
	mine.Epoch, old.Epoch = epoch, epoch-1
	for _, c := range []spending.Call{mine, old, loose, late} {
		p := reservation(t, c, 7, budget)
		p.Until = c.Started.Add(time.Second)
		require.NoError(t, b.Post(b.ctx, p))
	}
	lost := func(now time.Time) (ids []string) {
		got, err := b.Lost(b.ctx, now, 10)
		require.NoError(t, err)
		for _, p := range got {
			ids = append(ids, p.Call.ID)
		}
		return ids
	}
	require.Equal(t, []string{"call_2"}, lost(start))
	require.Equal(t, []string{"call_1", "call_2", "call_3"}, lost(at(50)), "one without an owner, and one of long ago")
	require.NoError(t, b.Renew(b.ctx, []string{"call_1", "call_3", "call_9"}, at(200)))
	require.Equal(t, []string{"call_2"}, lost(at(50)), "the others are renewed")
	b.take(3, "two")
	require.Equal(t, []string{"call_1", "call_2"}, lost(start))
	got, err := b.Lost(b.ctx, start, 1)
	require.NoError(t, err)
	call := got[0].Call
	require.Equal(t, spending.Money(7), call.Cost, "what it may have cost")
	require.Equal(t, mine.Origin, call.Origin)
	require.NoError(t, b.Post(b.ctx, settled(got[0], call)))
	require.Equal(t, []string{"call_2"}, lost(start))
	states, err := b.States(b.ctx, []spending.Account{budget.Account("", start)})
	require.NoError(t, err)
	require.Equal(t, spending.State{Held: 21, Spent: 7}, states[budget.Account("", start).ID])
}

// testSpendingRace reserves from many goroutines, each in two budgets: they never hold more than their limits.
func testSpendingRace(t *testing.T, b *bundle) {
	const callers, each, most = 8, 12, 250
	house, small := newBudget("house", most), newBudget("small", most/2)
	var held, heldSmall atomic.Int64
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for n := range each {
				budgets := []*spending.Budget{house}
				if (c+n)%2 == 0 {
					budgets = append(budgets, small)
				}
				p := reservation(t, newCall("call_"+strings.Repeat("x", c+1)+strings.Repeat("y", n), 0), 10, budgets...)
				switch err := b.Post(b.ctx, p); {
				case err == nil:
					held.Add(10)
					if len(budgets) == 2 {
						heldSmall.Add(10)
					}
				default:
					require.ErrorIs(t, err, sessions.ErrConflict)
				}
			}
		})
	}
	wg.Wait()
	states, err := b.States(b.ctx, []spending.Account{house.Account("", start), small.Account("", start)})
	require.NoError(t, err)
	require.Equal(t, held.Load(), states[house.Account("", start).ID].Held)
	require.Equal(t, heldSmall.Load(), states[small.Account("", start).ID].Held)
	require.EqualValues(t, most, held.Load())
	require.LessOrEqual(t, heldSmall.Load(), int64(most/2))
}

// testSpendingBounds refuses a posting with more budgets than a statement has room for.
func testSpendingBounds(t *testing.T, b *bundle) {
	var budgets []*spending.Budget
	for i := range spending.EntriesMax {
		budgets = append(budgets, newBudget(strings.Repeat("b", i+1), math.MaxInt64))
	}
	require.NoError(t, b.Post(b.ctx, reservation(t, newCall("call_1", 0), 1, budgets...)))
	p := reservation(t, newCall("call_2", 0), 1, budgets...)
	p.Entries = append(p.Entries, p.Entries[0])
	require.Error(t, b.Post(b.ctx, p))
}

// newApproval stores an approval, and reads it.
func (b *bundle) newApproval(p ledger.Approval) ledger.Approval {
	b.t.Helper()
	p.Label, p.Status, p.Created, p.Expires = flow.Bottom(), ledger.ApprovalPending, start, at(600)
	b.commit(ledger.Change{Ask: []ledger.Approval{p}})
	stored, err := b.Approval(b.ctx, p.ID)
	require.NoError(b.t, err)
	return stored
}
