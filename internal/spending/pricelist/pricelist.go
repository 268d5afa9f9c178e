// Package pricelist knows what model calls cost: the prices of the configuration, and public list prices of well-known
// models where the configuration has none.
package pricelist

import (
	"math"
	"regexp"
	"strings"
	"time"

	"sluice/internal/spending"
)

// Vendor is who publishes a list of prices.
type Vendor string

// The vendors.
const (
	Anthropic Vendor = "anthropic"
	OpenAI    Vendor = "openai"
)

// Entry is a price of the table, in US dollars for a million tokens, or for a minute of audio.
type Entry struct {
	Vendor                         Vendor
	Model                          string
	Input, Output, Cached, Written float64 // without a price of its own (0), the cache costs as much as the input
	Minute                         float64 // of models that hear or speak, which have no price of tokens; 0: none
}

// Table is the table of list prices, the newest models of each vendor first.
func Table() []Entry { return table() }

// Price is the entry's price.
func (e *Entry) Price() spending.Price {
	const million = 1_000_000
	millionths := func(dollars float64) int64 { return int64(math.Round(dollars * million)) }
	if e.Minute > 0 {
		return spending.Price{Minute: millionths(e.Minute), NoTokens: true, Currency: spending.DefaultCurrency}
	}
	p := spending.Flat(millionths(e.Input), millionths(e.Output))
	if e.Cached > 0 {
		p.Cached = millionths(e.Cached)
	}
	if e.Written > 0 {
		p.Written = millionths(e.Written)
	}
	return p
}

// snapshot is what vendors put after a model's name for its state on a day. It costs as much as the model.
var snapshot = regexp.MustCompile(`-(\d{8}|\d{4}-\d{2}-\d{2}|latest)$`)

// known are the prices of the table, by vendor and model.
var known = func() map[Vendor]map[string]*spending.Price {
	all := map[Vendor]map[string]*spending.Price{}
	for _, e := range table() {
		if all[e.Vendor] == nil {
			all[e.Vendor] = map[string]*spending.Price{}
		}
		p := e.Price()
		all[e.Vendor][e.Model] = &p
	}
	return all
}()

// Source says where a price comes from.
type Source string

// The sources.
const (
	FromConfiguration Source = "configuration"
	FromTable         Source = "table"
	FromNowhere       Source = "" // there is no price
)

// List has the prices of all models. The zero value has none.
type List struct {
	Own     spending.Prices   // of the configuration
	Vendors map[string]Vendor // by provider: only those whose requests go to the vendor's own API
}

// At is the price of a provider's model at a time, and where it comes from; nil if it is not known.
func (l *List) At(provider, model string, at time.Time) (*spending.Price, Source) {
	if p := l.Own.At(provider+"/"+model, at); p != nil {
		return p, FromConfiguration
	}
	prices := known[l.Vendors[provider]]
	if p := prices[model]; p != nil {
		return p, FromTable
	}
	if cut := snapshot.FindStringIndex(model); cut != nil {
		if p := prices[model[:cut[0]]]; p != nil {
			return p, FromTable
		}
	}
	return nil, FromNowhere
}

// Named is At for a model's whole name, <provider>/<model>.
func (l *List) Named(name string, at time.Time) (*spending.Price, Source) {
	provider, model, _ := strings.Cut(name, "/")
	return l.At(provider, model, at)
}
