package app

import (
	"sluice/internal/agent/roster"
	"sluice/internal/httpapi/skills"
	"sluice/internal/skill"
)

// skillHandlers serve the skills of the configured agents.
func skillHandlers(keeper *skill.Keeper, agents *roster.Roster) skills.API {
	return skills.API{
		Keeper: keeper,
		Agent: func(id string) (skill.Agent, bool) {
			for _, d := range agents.Settings().Agents {
				if d.ID == id || id == "" && d.Default {
					return skill.Agent{ID: d.ID, Workspace: d.Workspace, Level: d.FileLevel}, true
				}
			}
			return skill.Agent{}, false
		},
		Agents: func() (ids []string) {
			for _, d := range agents.Settings().Agents {
				ids = append(ids, d.ID)
			}
			return ids
		},
	}
}
