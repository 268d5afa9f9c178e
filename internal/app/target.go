package app

import (
	"context"
	"slices"

	"sluice/adapters"
	"sluice/adapters/webchat"
	"sluice/internal/httpapi/senders"
	"sluice/internal/trouble"
	"sluice/policy/flow"
	"sluice/router/outbound"
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

// tellElsewhere sends the owner a message about a trouble on a channel that works: another one than the one that the trouble is
// about. Without such a channel it does nothing.
func tellElsewhere(ctx context.Context, a *App, t *trouble.Trouble, text, key string) error {
	p, ok := workingPlace(a.cfg.Owners, a.supervisor.States(), t.Avoid)
	if !ok {
		return nil
	}
	p.Text, p.Label, p.Actor, p.Idempotency = text, flow.Bottom(), "gateway", key
	if t.Level.Valid() && t.Level != flow.Public {
		p.Text = "A part of the gateway has a problem, or had one: `sluice status` and `sluice doctor` say which."
	}
	_, err := a.router.Sender.Send(ctx, p)
	return err
}

// workingPlace is where an owner can be reached: the first owner on a channel with a connected account, but the page only if
// there is no other.
func workingPlace(owners []string, states []adapters.State, avoid string) (p outbound.Proactive, ok bool) {
	for _, who := range owners {
		channel, _, parsed := sessions.ParsePrincipal(who)
		if !parsed || channel == avoid || ok && p.Channel != webchat.Route().Channel {
			continue
		}
		i := slices.IndexFunc(states, func(s adapters.State) bool {
			return s.Channel == channel && (s.Status == adapters.Connected || s.Status == adapters.Standby)
		})
		if i >= 0 {
			p, ok = outbound.Proactive{Channel: channel, Account: states[i].Account, To: outbound.ToOwner}, true
		}
	}
	return p, ok
}
