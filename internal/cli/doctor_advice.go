package cli

import "sluice/internal/agent"

// advise says which settings do not fit together.
func (d *doctor) advise() {
	advice := d.cfg.Advise(agent.ToolNames())
	for _, a := range advice {
		d.add(finding{part: a.Part, text: a.Text, mend: a.Mend, note: !a.Wrong})
	}
	if len(advice) == 0 {
		d.add(sound("policy", plural(len(d.cfg.Policy.Rules), "rule", "rules")+"; levels, rules and secrets fit together"))
	}
}
