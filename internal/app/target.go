package app

import (
	"sluice/internal/httpapi/senders"
	"sluice/sessions"
)

// target finds the place of a note by its name. The owner is told on the platform of the first owner, else on the page.
func (a *App) target(name string) (senders.Target, bool) {
	if t, ok := a.cfg.Targets[name]; ok {
		return senders.Target{Channel: t.Channel, Account: t.Account, To: t.To, Thread: t.Thread}, true
	}
	found := senders.Target{To: "owner"}
	for _, who := range a.cfg.Owners {
		if channel, _, ok := sessions.ParsePrincipal(who); ok && (found.Channel == "" || found.Channel == "webchat") {
			found.Channel = channel
		}
	}
	return found, name == "owner" && found.Channel != ""
}
