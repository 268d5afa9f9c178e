package models

import (
	"cmp"
	"fmt"

	"sluice/internal/config/hint"
	"sluice/internal/config/scalar"
	"sluice/internal/spending"
	"sluice/internal/spending/pricelist"
)

// Price is what a model costs.
type Price struct {
	Rates   `yaml:",inline"`
	Changes []Rates `yaml:"changes,omitempty" doc:"Later prices of the model, each complete and with validFrom. The latest one whose day has begun applies."`
}

// Rates are what a model costs from a day on.
type Rates struct {
	Input     scalar.Amount `yaml:"input" doc:"For a million tokens of prompts. Optional if minute is set, like output."`
	Output    scalar.Amount `yaml:"output" doc:"For a million tokens of replies."`
	Cached    scalar.Amount `yaml:"cached" doc:"For a million tokens of prompts that the provider reads from its cache. Default: as input."`
	Written   scalar.Amount `yaml:"written,omitempty" doc:"For a million tokens of prompts that the provider writes to its cache. Default: as input."`
	Thinking  scalar.Amount `yaml:"thinking,omitempty" doc:"For a million tokens of reasoning. Default: as output."`
	Picture   scalar.Amount `yaml:"picture,omitempty" doc:"For each picture of a prompt, in addition to its tokens. Default: 0."`
	Minute    scalar.Amount `yaml:"minute,omitempty" doc:"For a minute of audio, of a model of media.transcription or media.speech. Default: unknown."`
	Currency  string        `yaml:"currency" doc:"Such as USD or EUR. Default: USD."`
	ValidFrom scalar.Day    `yaml:"validFrom,omitempty" doc:"The day (UTC) from which the price applies, such as 2026-12-01. Before that day, the list price of the model applies, if there is one. Default: always."`
}

func (m *Models) checkPrices(fault Fault) {
	for name, p := range m.Prices {
		path := hint.Join("models.prices", name)
		m.one(path, name, fault)
		p.Rates.check(path, fault)
		for i, r := range p.Changes {
			at := fmt.Sprintf("%s.changes[%d]", path, i)
			r.check(at, fault)
			fault.must(r.ValidFrom != "", at+".validFrom", "is missing: want a day, such as 2026-12-01")
		}
	}
}

func (r *Rates) check(path string, fault Fault) {
	if r.Minute != "" && r.Input == "" && r.Output == "" {
		return
	}
	fault.must(r.Input != "", path+".input", "is missing: want the price of a million tokens, such as 2.50")
	fault.must(r.Output != "", path+".output", "is missing: want the price of a million tokens, such as 10")
}

func (r *Rates) price() spending.Price {
	input, output := r.Input.Millionths(0), r.Output.Millionths(0)
	return spending.Price{
		Input: input, Output: output, Cached: r.Cached.Millionths(input), Written: r.Written.Millionths(input), Thinking: r.Thinking.Millionths(output), Picture: r.Picture.Millionths(0),
		Minute: r.Minute.Millionths(0), NoMinute: r.Minute == "", NoTokens: r.Input == "", Currency: r.Currency, From: r.ValidFrom.Start(),
	}
}

// PriceList are the prices of models. List prices count for providers whose requests go to the vendor's own API.
func (m *Models) PriceList() *pricelist.List {
	l := &pricelist.List{Own: spending.Prices{}, Vendors: map[string]pricelist.Vendor{}}
	for model, p := range m.Prices {
		l.Own.Add(model, p.price())
		for i := range p.Changes {
			r := p.Changes[i]
			r.Currency = cmp.Or(r.Currency, p.Currency)
			l.Own.Add(model, r.price())
		}
	}
	for name, p := range m.Providers {
		if p.BaseURL == "" {
			l.Vendors[name] = pricelist.Vendor(p.Kind)
		}
	}
	for _, free := range []string{"guide", "echo"} {
		l.Own.Add(Offline+"/"+free, spending.Price{})
	}
	return l
}
