package app

import (
	"sluice/internal/config"
	"sluice/internal/model"
	"sluice/internal/model/chain"
	"sluice/sessions"
)

// newModels creates the models of a configuration. What has failed is remembered across configurations.
func newModels(a *App, c *config.Config) (*model.Registry, error) {
	return model.New(model.Configured(&c.Models), model.Options{Board: a.board, Now: a.now, Log: a.log, Wrap: func(l chain.Link) sessions.Model {
		return a.meter.Wrap(l.Provider, l.Key, l.Model, l.Ask)
	}}, modelsInUse(c)...)
}

// modelsInUse returns the models and chains that the configuration names.
func modelsInUse(c *config.Config) []string {
	names := []string{c.Models.Default, c.Agents.Defaults.Model}
	for _, a := range c.Agents.List {
		names = append(names, a.Model)
	}
	return names
}
