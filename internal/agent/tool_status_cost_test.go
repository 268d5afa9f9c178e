package agent_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/agent/roster"
	"sluice/internal/spending"
)

// spent is a ledger in which every query gives the same sums.
type spent struct {
	sums    []spending.Sum
	budgets []*spending.Budget
	asked   []spending.Query
}

func (s *spent) Sums(_ context.Context, q spending.Query) ([]spending.Sum, error) {
	s.asked = append(s.asked, q)
	return s.sums, nil
}

func (*spent) Standings(context.Context, string, time.Time, int64, int) ([]spending.Standing, error) {
	panic("accounts count the calls of all levels")
}

// An agent reads what its session has cost and what is left of budgets. Only calls of sessions that it sees are counted, up to
// what it has learned.
func TestStatusShowsCostAndBudgets(t *testing.T) {
	t.Parallel()
	for visible, want := range map[roster.Visibility]spending.Query{
		roster.VisibleSelf: {Session: "own"}, roster.VisibleTree: {Agent: "main"}, roster.VisibleAgent: {Agent: "main"}, roster.VisibleAll: {},
	} {
		b := newBundle(t)
		b.spent.sums = []spending.Sum{{Agent: "main", Calls: 3, Cost: spending.One * 5 / 4, Currency: "USD"}}
		b.spent.sums[0].Amount.InputTokens = 10
		b.spent.budgets = []*spending.Budget{
			{Name: "house", Scope: spending.ScopeGateway, Limit: 3 * int64(spending.One), Unit: "USD", Per: spending.PerDay},
			{Name: "mine", Scope: spending.ScopeAgent, Match: []string{"main"}, Limit: 8, Unit: spending.Tokens, Per: spending.PerTotal},
			{Name: "else", Scope: spending.ScopeAgent, Match: []string{"other"}, Limit: 8, Unit: spending.Tokens, Per: spending.PerTotal},
			{Name: "provider", Scope: spending.ScopeProvider, Limit: 8, Unit: spending.Tokens, Per: spending.PerTotal},
		}
		b.configure(func(s *roster.Settings) { s.Visibility = visible })
		var got struct {
			Usage   struct{ Cost, CachedShare string }
			Budgets []struct{ Name, Limit, Per, Used, Left, Until string }
		}
		result := b.tool(t, "session_status", `{}`)
		require.NoError(t, json.Unmarshal([]byte(result.Text), &got), result.Text)
		require.Equal(t, "1.25 USD", got.Usage.Cost)
		require.Len(t, got.Budgets, 2, "what others spend at a provider is not this session's")
		require.Equal(t, []string{"house", "3.00 USD", "day", "1.25 USD", "1.75 USD"}, []string{got.Budgets[0].Name, got.Budgets[0].Limit, got.Budgets[0].Per, got.Budgets[0].Used, got.Budgets[0].Left})
		require.NotEmpty(t, got.Budgets[0].Until)
		require.Equal(t, "0 tokens", got.Budgets[1].Left, "never below zero")
		require.Len(t, b.spent.asked, 3)
		for i, q := range b.spent.asked {
			require.Equal(t, b.session.Taint().Level(), q.MaxLevel)
			if want.Session == "own" || i == 0 {
				require.Equal(t, string(b.session.Record().ID), q.Session, visible)
			} else {
				require.Empty(t, q.Session, visible)
			}
			if want.Agent != "" && i > 0 {
				require.Equal(t, want.Agent, q.Agent)
			}
		}
		b.run.Input.Owner = false // others speak in the main session
		require.NotContains(t, b.tool(t, "session_status", `{}`).Text, "USD")
		require.Len(t, b.spent.asked, 3)
	}
}
