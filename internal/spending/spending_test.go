package spending_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/spending"
	"sluice/sessions/message"
)

func TestCost(t *testing.T) {
	t.Parallel()
	price := spending.Price{Input: 2_500_000, Output: 10_000_000, Cached: 250_000, Written: 3_000_000, Thinking: 12_000_000, Picture: 1000, Minute: 6000}
	for want, a := range map[string]spending.Amount{
		"2.50":         {Usage: message.Usage{InputTokens: 1_000_000}},
		"10.00":        {Usage: message.Usage{OutputTokens: 1_000_000}},
		"0.25":         {Usage: message.Usage{InputTokens: 1_000_000, CachedTokens: 2_000_000}},
		"3.00":         {Usage: message.Usage{InputTokens: 1_000_000, WrittenTokens: 1_000_000}},
		"12.00":        {Usage: message.Usage{OutputTokens: 1_000_000, ThinkingTokens: 1_000_000}},
		"0.0159":       {Usage: message.Usage{InputTokens: 5120, OutputTokens: 304}},
		"0.00":         {},
		"under 0.0001": {Usage: message.Usage{InputTokens: 1}},
		"0.001":        {Pictures: 1},
		"0.009":        {Audio: 90 * time.Second},
	} {
		require.Equal(t, want, price.Cost(a).String())
		require.GreaterOrEqual(t, price.Worst(a), price.Cost(a), want)
	}
	require.Equal(t, "1.250000001", (spending.One + spending.One/4 + 1).Decimal())
}

func TestPriceAtATime(t *testing.T) {
	t.Parallel()
	prices, noon := spending.Prices{}, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	prices.Add("p/m", spending.Price{Input: 2, From: noon})
	require.Nil(t, prices.At("p/m", noon.Add(-1)))
	prices.Add("p/m", spending.Price{Input: 1})
	require.EqualValues(t, 1, prices.At("p/m", noon.Add(-1)).Input)
	require.EqualValues(t, 2, prices.At("p/m", noon).Input)
	require.Nil(t, prices.At("p/other", noon))
}

// Days, weeks and months begin at midnight of the zone, also when clocks change.
func TestPeriods(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	at := time.Date(2026, 3, 29, 22, 30, 0, 0, time.UTC) // 00:30 on Monday; the clocks changed on Sunday
	for per, want := range map[spending.Per][2]string{
		spending.PerDay: {"2026-03-30T00:00:00+02:00", "2026-03-31T00:00:00+02:00"}, spending.PerWeek: {"2026-03-30T00:00:00+02:00", "2026-04-06T00:00:00+02:00"},
		spending.PerMonth: {"2026-03-01T00:00:00+01:00", "2026-04-01T00:00:00+02:00"},
	} {
		b := spending.Budget{Per: per, Zone: berlin}
		start, end := b.Period(at)
		require.Equal(t, want, [2]string{start.Format(time.RFC3339), end.Format(time.RFC3339)}, per)
	}
	sunday, end := (&spending.Budget{Per: spending.PerDay, Zone: berlin}).Period(at.Add(-time.Hour))
	require.Equal(t, 23*time.Hour, end.Sub(sunday))
}

func TestPlanAndSettle(t *testing.T) {
	t.Parallel()
	house := &spending.Budget{Name: "house", Scope: spending.ScopeGateway, Limit: 100, Reserve: 30, Unit: "USD", Per: spending.PerDay}
	tokens := &spending.Budget{Name: "tokens", Scope: spending.ScopeAgent, Match: []string{"co*"}, Limit: 1000, Unit: spending.Tokens, Per: spending.PerTotal}
	person := &spending.Budget{Name: "person", Scope: spending.ScopePerson, Limit: 1, Unit: "USD", Per: spending.PerDay}
	budgets := []*spending.Budget{tokens, person, house}
	price := &spending.Price{Input: 2000, Output: 3000, Currency: "USD"}
	worst := spending.Amount{Usage: message.Usage{InputTokens: 10, OutputTokens: 5}}
	p := &spending.Posting{Call: spending.Call{Provider: "p", Origin: spending.Origin{Agent: "coder", Unattended: true}}}
	require.NoError(t, p.Plan(budgets, price, worst))
	require.Len(t, p.Entries, 2, "nobody speaks")
	require.Equal(t, []int64{35, 15}, []int64{p.Entries[0].Held, p.Entries[1].Held})
	require.Equal(t, []int64{70, 1000}, []int64{p.Entries[0].Max, p.Entries[1].Max}, "unattended work leaves a part to people")
	reached := spending.Refusal(budgets, p, map[string]spending.State{p.Entries[0].ID: {Spent: 60}})
	require.Same(t, house, reached.Budget)
	require.True(t, reached.Unattended)
	p.Call.Assumed, p.Call.Cost, p.Call.Amount = false, 7, spending.Amount{Usage: message.Usage{InputTokens: 2, OutputTokens: 1}}
	p.Settle()
	require.Equal(t, []int64{-35, 7, -15, 3}, []int64{p.Entries[0].Held, p.Entries[0].Spent, p.Entries[1].Held, p.Entries[1].Spent})

	unknown := &spending.Posting{}
	err := unknown.Plan(budgets, nil, worst)
	require.ErrorContains(t, err, "has no price in USD")
}

func TestCostOfSeveral(t *testing.T) {
	t.Parallel()
	usd := spending.Sum{Calls: 7, Cost: spending.One * 5 / 4, Currency: "USD"}
	unknown := spending.Sum{Calls: 2}
	for want, sums := range map[string][]spending.Sum{
		"": nil, "unknown": {unknown}, "1.25 USD": {usd}, "1.25 USD, and unknown for 2 of 9 calls": {usd, unknown},
		"1.00 EUR, 1.25 USD": {{Calls: 1, Cost: spending.One, Currency: "EUR"}, usd},
	} {
		require.Equal(t, want, spending.CostOf(sums))
	}
	sums := spending.Counted(spending.Counted([]spending.Sum{usd}, &spending.Call{Cost: 1, Currency: "USD"}), &spending.Call{})
	require.Equal(t, []spending.Sum{{Calls: 8, Cost: spending.One*5/4 + 1, Currency: "USD"}, {Calls: 1}}, sums)
}

func TestRaise(t *testing.T) {
	t.Parallel()
	one := int64(spending.One)
	for name, c := range map[string]struct {
		budget spending.Budget
		short  int64
		shown  string // empty: nobody is asked
	}{
		"a fifth":                     {spending.Budget{Limit: 5 * one, Unit: "USD", AtLimit: spending.RuleAsk}, 1, "1.00 USD"},
		"what the call needs":         {spending.Budget{Limit: 5 * one, Unit: "USD", AtLimit: spending.RuleAsk}, one + one/3, "2.00 USD"},
		"not what exactly is missing": {spending.Budget{Limit: 5 * one, Unit: "USD", AtLimit: spending.RuleAsk}, 2*one - 1, "2.00 USD"},
		"the whole limit again":       {spending.Budget{Limit: 5 * one, Unit: "USD", AtLimit: spending.RuleAsk}, 5 * one, "5.00 USD"},
		"a small limit":               {spending.Budget{Limit: one / 100, Unit: "USD", AtLimit: spending.RuleAsk}, 1, "0.01 USD"},
		"there is room by now":        {spending.Budget{Limit: 5 * one, Unit: "USD", AtLimit: spending.RuleAsk}, -3 * one, "1.00 USD"},
		"tokens":                      {spending.Budget{Limit: 99, Unit: spending.Tokens, AtLimit: spending.RuleAsk}, 1, "20 tokens"},
		"more than the limit again":   {spending.Budget{Limit: 100, Unit: spending.Tokens, AtLimit: spending.RuleAsk}, 101, ""},
		"the budget does not say so":  {spending.Budget{Limit: 100, Unit: spending.Tokens, AtLimit: spending.RuleStop}, 1, ""},
	} {
		r := spending.Reached{Budget: &c.budget, Short: c.short}
		raise, ask := r.Raise()
		require.Equal(t, c.shown != "", ask, name)
		require.Equal(t, c.shown, raise.Shown, name)
	}
	unpriced := spending.Reached{Budget: &spending.Budget{Limit: 5, AtLimit: spending.RuleAsk}, Unpriced: true}
	_, ask := unpriced.Raise()
	require.False(t, ask)
}

// The audit trail shows the error to those who see the session, and the budget counts calls of all sessions.
func TestReachedDoesNotSayWhatOthersHaveUsed(t *testing.T) {
	t.Parallel()
	one := int64(spending.One)
	says := func(s spending.State) string {
		return (&spending.Reached{Budget: &spending.Budget{Name: "house", Limit: 5 * one, Unit: "USD", Per: spending.PerDay}, State: s, Need: one / 2}).Error()
	}
	require.Equal(t, "budget house of 5.00 USD today has no room for this call, which may cost 0.50 USD; `sluice usage budgets` shows what is used", says(spending.State{Spent: 5 * one}))
	require.Equal(t, says(spending.State{Spent: 5 * one}), says(spending.State{Spent: 5*one - 7, Held: 1, Extra: one}))
}
