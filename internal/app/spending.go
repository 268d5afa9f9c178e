package app

import (
	"cmp"
	"context"

	"sluice/internal/config"
	"sluice/internal/config/budgets"
	"sluice/internal/model/meter"
	"sluice/internal/model/near"
	"sluice/internal/spending"
	"sluice/internal/spending/standing"
	"sluice/policy/flow"
	"sluice/sessions"
)

// meterSettings are what model calls cost under a configuration.
func meterSettings(c *config.Config) *meter.Settings {
	return &meter.Settings{Prices: c.Models.PriceList(), Budgets: budgets.Compile(c.Budgets)}
}

// newNear creates the watch over budgets that are nearly used up.
func newNear(a *App) *near.Watch {
	return &near.Watch{
		Budgets: func() []*spending.Budget { return a.meter.Settings().Budgets }, Ledger: a.store, Alerts: func() bool { return alertsOn(a) }, Level: func() flow.Level { return ownersLevel(a) },
		Send: func(ctx context.Context, text, key string, level flow.Level) error {
			return tellOwner(ctx, a, text, key, flow.NewLabel(level, flow.Trusted))
		}, Now: a.now, Log: a.log,
	}
}

// ownersLevel returns the level of the chat in which the owner is notified.
func ownersLevel(a *App) flow.Level {
	t, ok := a.target("owner")
	if !ok {
		return flow.Restricted
	}
	return a.gate.SinkLevel(sessions.Route{Channel: t.Channel, Account: cmp.Or(t.Account, "default"), ChatType: sessions.Direct, Conversation: sessions.ConversationID(t.To)})
}

// standings reads how much of budgets is used.
func standings(a *App) *standing.Reader {
	return &standing.Reader{Ledger: a.store, Budgets: func() []*spending.Budget { return a.meter.Settings().Budgets }, Now: a.now}
}

// alertsOn reports whether alerts are configured.
func alertsOn(a *App) bool { return a.router.Alerts().Plan() != nil }

// sweepCalls posts reservations as spent whose calls can no longer end, and tells the owner of budgets that are nearly used up.
func sweepCalls(ctx context.Context, a *App) {
	n, err := a.meter.Sweep(ctx)
	switch {
	case err != nil && ctx.Err() == nil:
		a.log.Error("lost reservations of budgets are not settled", "err", err)
	case n > 0:
		a.log.Warn("model calls were lost; each counts with the most that it may have cost", "calls", n)
	}
	a.near.Tell(ctx)
}
