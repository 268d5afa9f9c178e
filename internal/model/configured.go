package model

import (
	"time"

	"sluice/internal/config/models"
	"sluice/internal/config/scalar"
	"sluice/internal/model/chain"
)

// Configured are the providers of a configuration, which was checked.
func Configured(m *models.Models) map[string]ProviderConfig {
	all := make(map[string]ProviderConfig, len(m.Providers))
	for name, p := range m.Providers {
		c := ProviderConfig{
			Kind: p.Kind, BaseURL: p.BaseURL, Classification: p.Classification, ContextWindow: p.ContextWindow, Models: p.Models, Region: p.Region,
			Limits:  chain.Limits{Requests: rate(p.Limits.Requests), Tokens: rate(p.Limits.Tokens), Concurrent: p.Limits.Concurrent},
			Headers: map[string]string{}, Proxy: p.Proxy.Reveal(), Capabilities: map[string]chain.Capabilities{},
			Connect: time.Duration(p.Timeouts.Connect), FirstToken: time.Duration(p.Timeouts.FirstToken), Idle: time.Duration(p.Timeouts.Idle), Total: time.Duration(p.Timeouts.Total),
		}
		for _, key := range p.Keys() {
			c.Keys = append(c.Keys, key.Reveal())
		}
		for name, value := range p.Headers {
			c.Headers[name] = value.Reveal()
		}
		for model, can := range p.Capabilities {
			c.Capabilities[model] = chain.Capabilities{Window: can.ContextWindow, Has: chain.AbilityOf(can.Has), Lacks: chain.AbilityOf(can.Lacks)}
		}
		all[name] = c
	}
	return all
}

func rate(r scalar.Rate) chain.Rate { return chain.Rate{Amount: r.Amount, Per: r.Per} }
