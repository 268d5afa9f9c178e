package app

import (
	"sluice/adapters/webchat"
	"sluice/internal/config"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/nodes"
	"sluice/sessions"
)

// newGate creates the gate from the configured levels, send policy and rules.
func newGate(c *config.Config, hooks *policy.Rules, nodeLevel func(sessions.ConversationID) flow.Level) (*policy.Gate, error) {
	send, err := c.Session.SendPolicy.Compiled()
	if err != nil {
		return nil, err
	}
	to := sinks(c)
	to[nodes.Channel] = policy.Sink{Level: flow.Restricted, Lookup: nodeLevel}
	return policy.NewGate(to, send, hooks), nil
}

// sinks returns the levels of the outgoing channels.
func sinks(c *config.Config) map[string]policy.Sink {
	all := map[string]policy.Sink{webchat.Channel: {Level: c.Channels.Webchat.Classification}}
	for _, p := range c.Channels.Platforms() {
		sink := policy.Sink{
			Level: p.Access.Classification, Accounts: p.Levels, Spaces: map[string]flow.Level{},
			Conversations: map[sessions.ConversationID]flow.Level{}, Recipients: map[string]flow.Level{},
		}
		for id, g := range p.Access.Groups {
			if space, ok := spaceOf(id); ok {
				sink.Spaces[space] = g.Classification
			} else {
				sink.Conversations[sessions.ConversationID(id)] = g.Classification
			}
		}
		for id, r := range p.Access.Recipients {
			sink.Recipients[id] = r.Level()
		}
		all[p.Name] = sink
	}
	for _, t := range c.Targets {
		if sink := all[t.Channel]; t.Classification.Valid() && sink.Recipients != nil {
			sink.Recipients[t.To] = lower(sink.Recipients[t.To], t.Classification)
		}
	}
	return all
}

// lower is the lower of two levels, of which the first may be missing.
func lower(a, b flow.Level) flow.Level {
	if !a.Valid() {
		return b
	}
	return flow.Min(a, b)
}
