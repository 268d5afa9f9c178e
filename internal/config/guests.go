package config

import (
	"fmt"
	"slices"

	"sluice/sessions"
)

// Keyer returns the keyer for the sessions of a configuration.
func (s *Session) Keyer() sessions.Keyer {
	k := sessions.Keyer{Global: s.Scope == "global", Scope: sessions.DMScope(s.DMScope), MainKey: s.MainKey, Links: map[string]string{}}
	for name, ids := range s.IdentityLinks {
		for _, id := range ids {
			k.Links[id] = name
		}
	}
	return k
}

// Guests returns the settings that let people other than owners into direct chats, in readable form. It does not
// include people admitted by a code, which only the store knows.
func (c *Config) Guests() []string {
	var settings []string
	for _, p := range c.Channels.Platforms() {
		if len(p.Accounts) == 0 {
			continue
		}
		others := slices.ContainsFunc(p.Access.AllowFrom, func(id string) bool {
			return !slices.Contains(c.Owners, sessions.Principal(p.Name, sessions.UserID(id)))
		})
		switch {
		case p.Access.DMPolicy == "open":
			settings = append(settings, fmt.Sprintf("channels.%s.dmPolicy is open", p.Name))
		case p.Access.DMPolicy != "disabled" && others:
			settings = append(settings, fmt.Sprintf("channels.%s.allowFrom names others than owners", p.Name))
		}
	}
	return settings
}

// LetsPair reports whether a pairing code admits people to the direct chats of a channel.
func (c *Config) LetsPair(channel string) bool {
	return slices.ContainsFunc(c.Channels.Platforms(), func(p Platform) bool {
		return p.Name == channel && len(p.Accounts) > 0 && p.Access.DMPolicy == "pairing"
	})
}
