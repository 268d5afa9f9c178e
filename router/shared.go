package router

import "sluice/sessions"

// SharedMain is what to tell who lets others in where the direct chats of different people are one session,
// their owner's too: what that means, and the setting that separates them. Empty where each person has a session.
func SharedMain(k sessions.Keyer) string {
	const means = ": whoever is let in talks in the owner's own session and can ask for what was said there. To give each person a session, set "
	switch {
	case !k.SharesDirect():
		return ""
	case k.Global:
		return "All that is said to an agent is one session (`session.scope: global`)" + means + "`session.scope: per-sender` and `session.dmScope: per-account-channel-peer`."
	}
	return "All direct chats with an agent are one session (`session.dmScope: main`)" + means + "`session.dmScope: per-account-channel-peer`."
}

// SharedMain is [SharedMain] of the present settings.
func (r *Router) SharedMain() string { return SharedMain(r.settings.Load().Keyer) }

// warnShared puts what [SharedMain] says below a text.
func (s *Settings) warnShared(text string) string {
	if shared := SharedMain(s.Keyer); shared != "" {
		return text + "\n\n**Mind:** " + shared
	}
	return text
}
