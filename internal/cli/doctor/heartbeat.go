package doctor

import (
	"path/filepath"

	"sluice/internal/config"
	"sluice/router/job"
	"sluice/sessions/prompt"
)

// heartbeats checks whether the heartbeats of agents have something to do, and somebody to tell.
func heartbeats(cfg *config.Config) []finding {
	var found []finding
	for _, a := range cfg.Agents.List {
		if a.Heartbeat.Every == 0 {
			continue
		}
		part, file := "heartbeat/"+a.ID, filepath.Join(a.Workspace, prompt.HeartbeatFileName)
		text, err := prompt.ReadHeartbeat(a.Workspace)
		switch toOwner := a.Heartbeat.Target == "" || a.Heartbeat.Target == "owner"; {
		case err != nil:
			found = append(found, problem(part, err.Error(), "write what the agent should look at into "+file))
		case len(a.Heartbeat.Checks) == 0 && job.Instructions(text) == "":
			found = append(found, note(part, "never asks the agent: it has no checks, and no instructions", "write what the agent should look at into "+file+", or name checks in its heartbeat"))
		case toOwner && len(cfg.Owners) == 0:
			found = append(found, problem(part, "has nobody to notify: no owner is configured", "add yourself to owners, or set target"))
		default:
			found = append(found, healthy(part, "every "+a.Heartbeat.Every.String()))
		}
	}
	return found
}
