package doctor

import (
	"context"
	"fmt"
	"os/exec"

	"sluice/internal/cli/api"
	"sluice/internal/config"
	"sluice/internal/config/agents"
)

// programs checks the programs and remote agents that work for agents.
func (d *Doctor) programs(ctx context.Context, cfg *config.Config, running bool) []finding {
	var found []finding
	connected, err := map[string]int{}, error(nil)
	if running {
		connected, err = d.connected(ctx, cfg)
	}
	for _, a := range cfg.Agents.List {
		part := "agent/" + a.ID
		switch a.Kind {
		case agents.KindA2A:
			found = append(found, reach(ctx, part, target{a.URL, "443"}, "start the remote agent, or correct its url in agents.list"))
		case agents.KindCommand:
			program, err := exec.LookPath(a.Command[0])
			if err != nil {
				found = append(found, problem(part, "program not found: "+err.Error(), "install it, or correct the agent's command in agents.list"))
				continue
			}
			found = append(found, healthy(part, program+" (starts with each run)"))
		case agents.KindNATS:
			switch n := connected[a.ID]; {
			case !running: // nobody can be connected
			case err != nil:
				found = append(found, problem(part, err.Error(), "sluice agents list"))
			case n == 0:
				found = append(found, problem(part, "no program is connected for this agent", "start its program, with the secret key that belongs to the agent's nkey (docs/programs.md)"))
			default:
				found = append(found, healthy(part, fmt.Sprintf("connected programs: %d", n)))
			}
		}
	}
	return found
}

// connected asks a running gateway how many programs are connected for each agent.
func (d *Doctor) connected(ctx context.Context, cfg *config.Config) (map[string]int, error) {
	programs := map[string]int{}
	for _, a := range cfg.Agents.List {
		if a.Kind == agents.KindNATS {
			programs[a.ID] = 0
		}
	}
	if len(programs) == 0 {
		return programs, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*probeTimeout)
	defer cancel()
	c, err := d.Locator.Connect()
	if err != nil {
		return nil, err
	}
	answer, err := c.Call(ctx, api.Request{Path: "/v1/agents"})
	if err != nil {
		return nil, err
	}
	list, err := api.Decode[api.AgentList](answer)
	if err != nil {
		return nil, err
	}
	for _, a := range list.Agents {
		programs[a.ID] = len(a.Instances)
	}
	return programs, nil
}
