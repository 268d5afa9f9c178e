package message_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/sessions/message"
)

func TestCost(t *testing.T) {
	t.Parallel()
	price := message.Price{Input: 2_500_000, Output: 10_000_000, Cached: 250_000}
	for want, u := range map[string]message.Usage{
		"2.5000 USD":       {InputTokens: 1_000_000},
		"10.0000 USD":      {OutputTokens: 1_000_000},
		"0.2500 USD":       {InputTokens: 1_000_000, CachedTokens: 1_000_000},
		"0.0158 USD":       {InputTokens: 5120, OutputTokens: 304},
		"0.0000 USD":       {},
		"under 0.0001 USD": {InputTokens: 1},
	} {
		require.Equal(t, want, price.Cost(u))
	}
	price.Currency = "EUR"
	require.Equal(t, "0.2500 EUR", price.Cost(message.Usage{InputTokens: 1_000_000, CachedTokens: 2_000_000}), "more was cached than sent")
}
