package policy

import "sluice/policy/flow"

// Simulation is the decision about a call of a tool that is not made.
type Simulation struct {
	Tool     string `json:"tool_name"`
	Decision string `json:"decision" enum:"ALLOW,BLOCK,REDACT,REQUIRE_APPROVAL"`
	Reason   string `json:"reason"`
	// Level is the session's level, and ResultingLevel its level after the call.
	Level          flow.Level    `json:"level"`
	ResultingLevel flow.Level    `json:"resulting_level"`
	Rules          []CheckResult `json:"rules"`
}

// Decide adds a decision to the simulation, in the form that programs read.
func (s *Simulation) Decide(d Decision) {
	words := map[Action]string{Allow: "ALLOW", Block: "BLOCK", Redact: "REDACT", Hold: "REQUIRE_APPROVAL"}
	s.Decision, s.Reason, s.Rules = words[d.Action], d.Reason, d.Rules
}
