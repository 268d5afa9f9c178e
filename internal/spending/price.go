package spending

import (
	"cmp"
	"slices"
	"time"

	"sluice/sessions/message"
)

// DefaultCurrency is the currency of prices and budgets that name none.
const DefaultCurrency = "USD"

// Price is what a model costs, in millionths of the currency: for a million tokens, for a picture, for a minute of a recording.
type Price struct {
	Input, Output int64
	Cached        int64 // of prompts that the provider reads from its cache
	Written       int64 // of prompts that the provider writes to its cache
	Thinking      int64 // of reasoning
	Picture       int64 // of each picture of a prompt, in addition to its tokens
	Minute        int64 // of each minute of a recording
	Currency      string
	From          time.Time // when it begins to hold; zero: always

	// NoTokens and NoMinute: what tokens, or a minute of a recording, cost is not known.
	NoTokens, NoMinute bool
}

// Known returns the price if it covers the kind of an amount, tokens or a recording; else nil.
func (p *Price) Known(a Amount) *Price {
	if p == nil || a.Audio > 0 && p.NoMinute || a.Audio == 0 && p.NoTokens {
		return nil
	}
	return p
}

// Flat is a price of tokens without special prices for parts of a prompt or a reply.
func Flat(input, output int64) Price {
	return Price{Input: input, Output: output, Cached: input, Written: input, Thinking: output, Currency: DefaultCurrency, NoMinute: true}
}

// Amount is what a call has used.
type Amount struct {
	message.Usage
	Pictures int
	Audio    time.Duration
}

// Cost is what an amount costs.
func (p Price) Cost(a Amount) Money {
	const perMillionth = 1000 // a token at a price of 1 costs a billionth of a thousandth
	cached := min(max(a.CachedTokens, 0), a.InputTokens)
	written := min(max(a.WrittenTokens, 0), a.InputTokens-cached)
	thinking := min(max(a.ThinkingTokens, 0), a.OutputTokens)
	return sum(
		share(int64(a.InputTokens-cached-written), p.Input, perMillionth),
		share(int64(cached), p.Cached, perMillionth),
		share(int64(written), p.Written, perMillionth),
		share(int64(a.OutputTokens-thinking), p.Output, perMillionth),
		share(int64(thinking), p.Thinking, perMillionth),
		share(int64(a.Pictures), p.Picture*perMillionth, 1),
		share(a.Audio.Milliseconds(), p.Minute*perMillionth, uint64(time.Minute/time.Millisecond)),
	)
}

// Worst is the most that an amount can cost, whichever of its tokens turn out to be cached, written or thought.
func (p Price) Worst(a Amount) Money {
	p.Input = max(p.Input, p.Cached, p.Written)
	p.Output = max(p.Output, p.Thinking)
	a.CachedTokens, a.WrittenTokens, a.ThinkingTokens = 0, 0, 0
	return p.Cost(a)
}

// Prices are the prices of models by "<provider>/<model>", each model's by the time at which they begin to hold.
type Prices map[string][]Price

// Add adds a price of a model.
func (ps Prices) Add(model string, p Price) {
	p.Currency = cmp.Or(p.Currency, DefaultCurrency)
	all := append(slices.Clone(ps[model]), p)
	slices.SortStableFunc(all, func(a, b Price) int { return a.From.Compare(b.From) })
	ps[model] = all
}

// At is the price of a model at a time; nil if it is unknown.
func (ps Prices) At(model string, at time.Time) *Price {
	all := ps[model]
	for i := len(all) - 1; i >= 0; i-- {
		if !all[i].From.After(at) {
			return &all[i]
		}
	}
	return nil
}
