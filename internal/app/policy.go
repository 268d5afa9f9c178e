package app

import (
	"sluice/adapters/webchat"
	"sluice/internal/config"
	"sluice/internal/model"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/sessions"
)

// newGate makes the way out of the configured levels, send policy and rules.
func newGate(c *config.Config, hooks *policy.Rules) (*policy.Gate, error) {
	var rules []policy.SendRule
	for _, r := range c.Session.SendPolicy.Rules {
		rules = append(rules, policy.SendRule{Match: policy.SendMatch(r.Match), Action: action(r.Action)})
	}
	send, err := policy.NewSendPolicy(action(c.Session.SendPolicy.Default), rules)
	if err != nil {
		return nil, err
	}
	return policy.NewGate(sinks(c), send, hooks), nil
}

// sinks are the levels of the ways out.
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
	return all
}

// action is a configured action; what is neither is refused where it is used.
func action(word string) policy.Action {
	switch word {
	case "allow":
		return policy.Allow
	case "deny":
		return policy.Block
	}
	return policy.Action(word)
}

// providers are the configured model providers.
func providers(c *config.Config) map[string]model.ProviderConfig {
	all := map[string]model.ProviderConfig{}
	for name, p := range c.Models.Providers {
		all[name] = model.ProviderConfig{
			Kind: p.Kind, APIKey: p.APIKey.Reveal(), BaseURL: p.BaseURL, Classification: p.Classification, ContextWindow: p.ContextWindow,
			Models: p.Models,
		}
	}
	return all
}

// modelsInUse are the models that the configuration itself names.
func modelsInUse(c *config.Config) []string {
	names := []string{c.Models.Default, c.Agents.Defaults.Model}
	for _, a := range c.Agents.List {
		names = append(names, a.Model)
	}
	return names
}
