package httpapi

import (
	"context"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/wire"
)

// handlers are the groups of handlers.
type handlers struct {
	cfg        *Config
	sessions   *sessionAPI
	history    *historyAPI
	turns      *turnAPI
	events     *eventAPI
	runs       *runAPI
	exchanges  *exchangeAPI
	files      *fileAPI
	deliveries *deliveryAPI
	media      *mediaAPI
	approvals  *approvalAPI
	policy     *policyAPI
	memories   *memoryAPI
	pairings   *pairingAPI
	audit      *auditAPI
	status     *statusAPI
}

// newHandlers wires the groups. Streams and waits end with ending.
func newHandlers(cfg *Config, tokens *auth.Tokens, trail *denials.Trail, ending context.Context) *handlers {
	gw, rows := &cfg.Gateway, &cfg.Rows
	visible := &visibility{resolver: gw.Resolver, rows: rows.Sessions, sinkLevel: cfg.SinkLevel, denials: trail}
	who := identity{route: cfg.PageRoute, person: cfg.PagePerson}
	files := fileNames{rows.Media}
	cursors := wire.NewCursors(tokens.Secret())
	answers := &answers{visible: visible, gate: gw.Gate, runs: rows.Runs, channel: cfg.PageRoute.Channel}
	events := &eventAPI{visible: visible, events: gw.Events, answers: answers, cursors: cursors, ending: ending, log: cfg.Log}
	return &handlers{
		cfg:        cfg,
		sessions:   &sessionAPI{visible: visible, keeper: gw.Sessions, gate: gw.Gate, rows: rows.Sessions, models: cfg.Models, now: cfg.Now},
		history:    &historyAPI{visible: visible, rows: rows.Sessions, outbox: rows.Deliveries, files: files, answers: answers, channel: cfg.PageRoute.Channel},
		turns:      &turnAPI{visible: visible, turns: gw.Turns, events: events, runs: rows.Runs, notices: rows.Deliveries, answers: answers, identity: who, now: cfg.Now, log: cfg.Log},
		events:     events,
		runs:       &runAPI{visible: visible, turns: gw.Turns, rows: rows.Runs, answers: answers, ending: ending},
		exchanges:  &exchangeAPI{visible: visible, rows: rows.Exchanges, tasks: gw.Tasks, models: cfg.Models, route: cfg.PageRoute},
		files:      &fileAPI{visible: visible, keeper: gw.Sessions, files: cfg.Files},
		deliveries: &deliveryAPI{visible: visible, outbox: gw.Outbox, rows: rows.Deliveries, files: files, identity: who},
		media:      &mediaAPI{visible: visible, rows: rows.Media},
		approvals:  &approvalAPI{visible: visible, rows: rows.Approvals, approver: gw.Approver, identity: who, now: cfg.Now},
		policy:     &policyAPI{visible: visible, gate: gw.Gate, simulator: gw.Simulator, identity: who},
		memories:   &memoryAPI{visible: visible, rows: rows.Memories, now: cfg.Now},
		pairings:   &pairingAPI{visible: visible, pairings: gw.Pairings, rows: rows.Pairings, now: cfg.Now},
		audit:      &auditAPI{visible: visible, rows: rows.Audit, cursors: cursors},
		status: &statusAPI{
			visible: visible, parts: cfg.Parts, accounts: cfg.Accounts, deliveries: rows.Deliveries, tokens: tokens, denials: trail,
			version: cfg.Version, started: cfg.Now(), now: cfg.Now,
		},
	}
}
