package chain

import "strings"

// Max is how many models a chain may have.
const Max = 8

// Auto as the last name of a session's own chain stands for the chain of its agent.
const Auto = "auto"

// Names are the models of a chain, in their order.
func Names(ref string) []string {
	var names []string
	for name := range strings.SplitSeq(ref, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// Text is how a chain of these models is written.
func Text(names []string) string { return strings.Join(names, ", ") }

// Expand puts the agent's chain in the place of [Auto]. A model is named once.
func Expand(ref, agents string) string {
	if !strings.Contains(ref, Auto) {
		return ref
	}
	var names []string
	seen := map[string]bool{}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	for _, name := range Names(ref) {
		if name != Auto {
			add(name)
			continue
		}
		for _, own := range Names(agents) {
			add(own)
		}
	}
	return Text(names)
}
