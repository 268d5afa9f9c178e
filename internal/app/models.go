package app

import (
	"context"

	"sluice/internal/config"
	"sluice/internal/model"
	"sluice/internal/model/chain"
	"sluice/internal/model/fallback"
	"sluice/internal/model/traced"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/sessions"
)

// newModels creates the models of a configuration. What has failed is remembered across configurations.
func newModels(a *App, c *config.Config) (*model.Registry, error) {
	return model.New(model.Configured(&c.Models), model.Options{Board: a.fallback.Board, Now: a.now, Log: a.log, Moved: a.fallback.Moved, Wrap: func(l chain.Link) sessions.Model {
		asks := a.meter.Wrap(l.Provider, l.Key, l.Model, l.Ask)
		if a.tracer.On() {
			asks = traced.Wrap(l.Provider, l.Model, asks)
		}
		return asks
	}}, c.ModelsInUse()...)
}

// newFallback creates what the chains share. The router, which tells the owner, may be made later.
func newFallback(a *App) *fallback.Fallback {
	return fallback.New(fallback.Config{
		Store: a.store, Shared: a.cfg.Store.URL != "", Now: a.now, Log: a.log, Registerer: a.registry,
		Providers: func() []chain.Provider { return a.models.Load().Described() },
		Alerts:    func() bool { return alertsOn(a) },
		Audit: func(ctx context.Context, e sessions.AuditEntry) error {
			return a.router.Owner().Commit(ctx, ledger.Change{Change: sessions.Change{Audit: []sessions.AuditEntry{e}}})
		},
		Tell: func(ctx context.Context, text, key string) error { return tellOwner(ctx, a, text, key, flow.Bottom()) },
	})
}

// tellOwner sends the owner a message once, if there is an owner; further calls with the same key do nothing.
func tellOwner(ctx context.Context, a *App, text, key string, label flow.Label) error {
	t, ok := a.target("owner")
	if !ok {
		return nil
	}
	_, err := a.router.Sender.Send(ctx, outbound.Proactive{
		Channel: t.Channel, Account: t.Account, To: t.To, Thread: t.Thread, Text: text, Label: label, Actor: "gateway", Idempotency: key,
	})
	return err
}
