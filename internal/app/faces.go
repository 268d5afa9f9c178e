package app

import (
	"cmp"

	"sluice/internal/agent/roster"
	"sluice/internal/httpapi/a2aserver"
	"sluice/internal/httpapi/openai"
)

// faces show the agents to programs that speak other protocols.
type faces struct{ roster *roster.Roster }

// models are the agents as clients of OpenAI's API may know them.
func (f faces) models() (all []openai.Agent) {
	for _, d := range f.roster.Settings().Agents {
		all = append(all, openai.Agent{ID: d.ID, Default: d.Default, Published: d.OpenAI, Program: d.Program != nil})
	}
	return all
}

// peers are the agents as other agents may know them.
func (f faces) peers() (all []a2aserver.Agent) {
	for _, d := range f.roster.Settings().Agents {
		all = append(all, a2aserver.Agent{ID: d.ID, Name: cmp.Or(d.Name, d.ID), Default: d.Default, Published: d.A2A})
	}
	return all
}
