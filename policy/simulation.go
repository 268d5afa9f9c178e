package policy

import "sluice/policy/flow"

// Simulation is what a call of a tool would come to, had it been made.
type Simulation struct {
	Tool     string `json:"tool_name"`
	Decision string `json:"decision" enum:"ALLOW,BLOCK,REDACT,REQUIRE_APPROVAL"`
	Reason   string `json:"reason"`
	// Level is what the session has learnt, and ResultingLevel what it would have after the call.
	Level          flow.Level    `json:"level"`
	ResultingLevel flow.Level    `json:"resulting_level"`
	Rules          []CheckResult `json:"rules"`
}

// Decide takes a decision into the simulation, in the words that programs read.
func (s *Simulation) Decide(d Decision) {
	words := map[Action]string{Allow: "ALLOW", Block: "BLOCK", Redact: "REDACT", Hold: "REQUIRE_APPROVAL"}
	s.Decision, s.Reason, s.Rules = words[d.Action], d.Reason, d.Rules
}
