package chain

import "sluice/policy/flow"

// Provider describes a provider for people.
type Provider struct {
	Name   string
	Kind   string
	Level  flow.Level // the highest that may be sent to it
	Region string     // a note
	Host   string     // of its address
	Keys   []string   // their names
	Limits Limits     // of each key
	Models []*Entry   // those that the configuration names
}
