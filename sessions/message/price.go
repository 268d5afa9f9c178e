package message

import (
	"cmp"
	"fmt"
)

// Price is what a model costs: millionths of the currency for a million tokens, and so for each token a millionth of a
// millionth.
type Price struct {
	Input, Output int64
	Cached        int64  // of tokens that the provider reads from its cache
	Currency      string // empty: USD
}

// Cost is what a usage costs, as a text such as "0.0132 USD".
func (p Price) Cost(u Usage) string {
	const unit, shown = 1e12, 0.0001
	cached := min(u.CachedTokens, u.InputTokens)
	cost := (float64(u.InputTokens-cached)*float64(p.Input) + float64(cached)*float64(p.Cached) + float64(u.OutputTokens)*float64(p.Output)) / unit
	currency := cmp.Or(p.Currency, "USD")
	if cost > 0 && cost < shown {
		return fmt.Sprintf("under %g %s", shown, currency)
	}
	return fmt.Sprintf("%.4f %s", cost, currency)
}
