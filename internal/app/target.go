package app

import (
	"context"

	"sluice/internal/httpapi/senders"
	"sluice/internal/selfcheck"
	"sluice/internal/trouble"
	"sluice/policy/flow"
	"sluice/router/outbound"
	"sluice/router/place"
)

// target finds the place of a note by its name. The owner is told on the platform of the first owner, else on the page.
func (a *App) target(name string) (senders.Target, bool) {
	if t, ok := a.cfg.Targets[name]; ok {
		return senders.Target{Channel: t.Channel, Account: t.Account, To: t.To, Thread: t.Thread}, true
	}
	channel, _, ok := place.FirstOwner(a.cfg.Owners)
	return senders.Target{Channel: channel, To: outbound.ToOwner}, ok && name == outbound.ToOwner
}

// tellOnWorkingChannel sends the owner a message about a trouble, on a channel that the trouble is not about, and reports whether
// there is such a channel.
func tellOnWorkingChannel(ctx context.Context, a *App, t *trouble.Trouble, text, key string) (told bool, err error) {
	p, ok := selfcheck.WorkingPlace(a.cfg.Owners, a.supervisor.States(), t.Avoid)
	if !ok {
		return false, nil
	}
	p.Text, p.Label, p.Actor, p.Idempotency = text, flow.Bottom(), "gateway", key
	if t.Level.Valid() && t.Level != flow.Public {
		p.Text = "A part of the gateway has or had a problem: see `sluice status` and `sluice doctor`."
	}
	_, err = a.router.Sender.Send(ctx, p)
	return err == nil, err
}
