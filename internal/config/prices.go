package config

import (
	"sluice/internal/spending"
)

// ModelPrices are the prices of models.
func (c *Config) ModelPrices() spending.Prices {
	known := spending.Prices{}
	for model, p := range c.Models.Prices {
		input, output := p.Input.Millionths(0), p.Output.Millionths(0)
		known.Add(model, spending.Price{
			Input: input, Output: output, Cached: p.Cached.Millionths(input), Written: input, Thinking: output, Currency: p.Currency,
		})
	}
	for _, free := range []string{"guide", "echo"} {
		known.Add("offline/"+free, spending.Price{})
	}
	return known
}
