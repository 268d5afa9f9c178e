package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters/telegram/telegramtest"
	"sluice/internal/spending"
	"sluice/policy/flow"
	"sluice/router/ledger"
)

// The owner is told once that a budget is nearly used up, over replicas and restarts. With alerts, an alert says it.
func TestABudgetIsNearlyUsedUp(t *testing.T) {
	t.Parallel()
	bots := telegramtest.Start(t, telegramtest.Options{})
	g := start(t, `owners: ["telegram:1001"]
channels: { telegram: { classification: INTERNAL, accounts: { default: { token: "`+bots.Token()+`", apiBase: "`+bots.URL()+`" } } } }
budgets: [{ name: house, scope: gateway, limit: 5.00, per: total, warnAt: 60% }]
`)
	bots.Say(telegramtest.Private(1001), telegramtest.User{ID: 1001, FirstName: "Ada"}, "hello")
	_, err := bots.WaitSent(t.Context(), 1001, 1)
	require.NoError(t, err)
	told := func() (texts []string) {
		below, err := g.Store().ListDeliveries(t.Context(), ledger.Query{MaxLevel: flow.Public, Limit: 100})
		require.NoError(t, err)
		for _, d := range below {
			require.NotContains(t, d.Text, "Budget", "calls of all levels use a budget")
		}
		found, err := g.Store().ListDeliveries(t.Context(), ledger.Query{MaxLevel: flow.Restricted, Limit: 100})
		require.NoError(t, err)
		for _, d := range found {
			if strings.Contains(d.Text, "Budget") {
				texts = append(texts, d.Text)
			}
		}
		return texts
	}
	spend := func(id string, cost spending.Money) {
		p := &spending.Posting{Call: spending.Call{ID: id, Level: flow.Restricted, Started: time.Now()}}
		budget := &spending.Budget{Name: "house", Scope: spending.ScopeGateway, Limit: 5 * int64(spending.One), Unit: "USD", Per: spending.PerTotal}
		require.NoError(t, p.Plan([]*spending.Budget{budget}, &spending.Price{Output: int64(cost), Currency: "USD"}, spending.Amount{}))
		require.NoError(t, g.Store().Post(t.Context(), p))
		p.Call.Assumed, p.Call.Cost = false, cost
		p.Settle()
		require.NoError(t, g.Store().Post(t.Context(), p))
	}
	spend("call_1", 2*spending.One)
	g.NewNear().Tell(t.Context())
	require.Empty(t, told())
	spend("call_2", spending.One)
	const title = "Budget house: 60% of the limit is used in total"
	g.NewNear().Tell(t.Context())
	g.NewNear().Tell(t.Context())
	require.Len(t, told(), 1)
	require.Contains(t, told()[0], title)
	g.end()
	g.begin()
	g.NewNear().Tell(t.Context())
	require.Len(t, told(), 1)
	found, err := g.Troubles(t.Context())
	require.NoError(t, err)
	for _, f := range found {
		if f.Name == "budget/house" {
			require.Equal(t, title, f.Title)
			require.Equal(t, flow.Internal, f.Level, "of the owner's chat")
			return
		}
	}
	require.Fail(t, "no trouble")
}
