package pricelist_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/spending"
	"sluice/internal/spending/pricelist"
)

func TestWhereAPriceComesFrom(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	own := spending.Prices{}
	own.Add("ai/gpt-5", spending.Price{Input: 7, From: noon})
	own.Add("local/phi", spending.Price{})
	l := pricelist.List{Own: own, Vendors: map[string]pricelist.Vendor{"ai": pricelist.OpenAI, "an": pricelist.Anthropic}}
	for name, want := range map[string]struct {
		input int64
		from  pricelist.Source
	}{
		"ai/gpt-5":                          {7, pricelist.FromConfiguration},
		"ai/gpt-5-mini":                     {250_000, pricelist.FromTable},
		"ai/gpt-5-mini-2025-08-07":          {250_000, pricelist.FromTable},
		"ai/gpt-4o-2024-05-13":              {5_000_000, pricelist.FromTable},
		"ai/gpt-4o-2024-08-06":              {2_500_000, pricelist.FromTable},
		"an/claude-sonnet-4-5-20250929":     {3_000_000, pricelist.FromTable},
		"an/claude-3-5-haiku-latest":        {800_000, pricelist.FromTable},
		"an/claude-sonnet-4-5-20250929-abc": {-1, pricelist.FromNowhere},
		"an/gpt-5":                          {-1, pricelist.FromNowhere},
		"ai/gpt-5-pro":                      {-1, pricelist.FromNowhere},
		"local/gpt-5":                       {-1, pricelist.FromNowhere},
		"local/phi":                         {0, pricelist.FromConfiguration},
	} {
		p, from := l.Named(name, noon)
		require.Equal(t, want.from, from, name)
		if want.input >= 0 {
			require.Equal(t, want.input, p.Input, name)
		} else {
			require.Nil(t, p, name)
		}
	}
	p, from := l.At("ai", "gpt-5", noon.Add(-1))
	require.Equal(t, pricelist.FromTable, from, "the configured price does not hold yet")
	require.Equal(t, []int64{1_250_000, 10_000_000, 125_000, 1_250_000, 10_000_000}, []int64{p.Input, p.Output, p.Cached, p.Written, p.Thinking})
	p, _ = l.At("an", "claude-opus-4-5", noon)
	require.Equal(t, []int64{5_000_000, 25_000_000, 500_000, 6_250_000}, []int64{p.Input, p.Output, p.Cached, p.Written})
	none, from := (&pricelist.List{}).Named("ai/gpt-5", noon)
	require.Nil(t, none)
	require.Equal(t, pricelist.FromNowhere, from)
}

func TestTheTableHasEachModelOnce(t *testing.T) {
	t.Parallel()
	_, err := time.Parse(time.DateOnly, pricelist.Dated)
	require.NoError(t, err)
	for _, vendor := range []pricelist.Vendor{pricelist.Anthropic, pricelist.OpenAI} {
		_, err := time.Parse(time.DateOnly, vendor.Dated())
		require.NoError(t, err)
		require.GreaterOrEqual(t, vendor.Dated(), pricelist.Dated)
	}
	seen := map[string]bool{}
	for _, e := range pricelist.Table() {
		require.False(t, seen[string(e.Vendor)+e.Model], e.Model)
		seen[string(e.Vendor)+e.Model] = true
		p := e.Price()
		if p.NoTokens {
			require.Positive(t, p.Minute, e.Model)
			continue
		}
		require.Positive(t, p.Input, e.Model)
		require.Greater(t, p.Output, p.Input, e.Model)
		require.LessOrEqual(t, p.Cached, p.Input, e.Model)
		require.GreaterOrEqual(t, p.Written, p.Input, e.Model)
	}
}
