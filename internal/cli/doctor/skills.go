package doctor

import (
	"context"
	"fmt"

	"sluice/internal/cli/api"
	"sluice/internal/cli/terminal"
	"sluice/internal/config"
	"sluice/internal/sandbox"
	"sluice/internal/skill"
)

// skillList is as much of the list of skills as is checked.
type skillList struct {
	Skills []struct{ Agent, Name, State, Problem, Trust string }
}

// skills checks the skills of agents: a running gateway knows what they must be.
func (d *Doctor) skills(ctx context.Context, cfg *config.Config, running bool) []finding {
	some := false
	var found []finding
	for _, a := range cfg.Agents.List {
		if err := skill.CheckFolder(a.Workspace); err != nil {
			found = append(found, problem("skills", fmt.Sprintf("agent %s has no skills: %s", a.ID, err), "make "+skill.Folder(a.Workspace)+" a folder, not a link"))
			continue
		}
		some = some || (&skill.Keeper{}).Has(a.Workspace)
	}
	if !some || !running || len(found) > 0 {
		return found
	}
	ctx, cancel := context.WithTimeout(ctx, 2*probeTimeout)
	defer cancel()
	list, err := d.listSkills(ctx)
	if err != nil {
		return []finding{problem("skills", err.Error(), "sluice skills check")}
	}
	untrusted := 0
	for _, s := range list.Skills {
		if s.Problem != "" {
			found = append(found, problem("skill/"+s.Name, fmt.Sprintf("agent %s can't use it: %s", s.Agent, s.Problem), "sluice skills show "+s.Name+" --agent "+s.Agent))
		} else if s.Trust != "trusted" {
			untrusted++
		}
	}
	if len(found) == 0 && len(list.Skills) > 0 {
		found = append(found, healthy("skills", fmt.Sprintf("%s, untrusted: %d", terminal.Plural(len(list.Skills), "skill", "skills"), untrusted)))
	}
	if missing := sandbox.New("", d.Screen.Now).Available(ctx); missing != nil {
		found = append(found, note("skills", fmt.Sprintf("scripts of skills can't run: %s", missing), installSandbox))
	}
	return found
}

func (d *Doctor) listSkills(ctx context.Context) (list skillList, err error) {
	c, err := d.Locator.Connect()
	if err != nil {
		return list, err
	}
	answer, err := c.Call(ctx, api.Request{Path: "/v1/skills"})
	if err != nil {
		return list, err
	}
	return api.Decode[skillList](answer)
}
