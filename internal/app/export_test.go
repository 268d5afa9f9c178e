package app

import (
	"context"

	"sluice/internal/model/near"
	"sluice/internal/trouble"
	"sluice/internal/workspace"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store"
)

// Components, and what of them is reported.
var (
	AccountPart       = accountPart
	BusPart           = busPart
	ComponentTroubles = componentTroubles
)

// Store is the gateway's, so that tests can put things there that take an agent long to make.
func (a *App) Store() *store.DB { return a.store }

// SetUp says whether the start has finished.
func (a *App) SetUp(up bool) { a.up.Store(up) }

// Token is the HTTP API's token.
func (a *App) Token() string { return *a.token.Load() }

// Troubles are what is wrong with the gateway.
func (a *App) Troubles(ctx context.Context) ([]trouble.Trouble, error) {
	return a.selfLook().troubles(ctx)
}

// SetSpace replaces what measures disks, before Start.
func (a *App) SetSpace(space workspace.Disk) { a.space = space }

// VerifyTrail verifies the audit trail, as the gateway does once a day.
func (a *App) VerifyTrail(ctx context.Context) { a.trail.Check(ctx) }

// StoreRefusals stores whose messages were refused, as the gateway does every few seconds.
func (a *App) StoreRefusals(ctx context.Context) { a.router.Refused.StoreRest(ctx) }

// NewNear is a watch over budgets, as another replica has it.
func (a *App) NewNear() *near.Watch { return newNear(a) }

// Quota limits the files of sessions.
func (a *App) Quota() *workspace.Quota { return a.files.Quota }

// Emit publishes a live event.
func (a *App) Emit(e sessions.Event) { a.bus.Emit(e) }

// Folder is where a session's files are.
func (a *App) Folder(r sessions.Record) (string, error) { return a.roster.Folder(r) }

// committing tells of each change that is stored.
type committing struct {
	*store.DB
	told chan struct{}
}

func (c committing) tell() {
	select {
	case c.told <- struct{}{}:
	default: // who waits looks at all that is stored
	}
}

func (c committing) Commit(ctx context.Context, change ledger.Change) error {
	defer c.tell()
	return c.DB.Commit(ctx, change)
}

func (c committing) CommitSession(ctx context.Context, change sessions.Change) error {
	defer c.tell()
	return c.DB.CommitSession(ctx, change)
}

// Committed gets one after one or more changes that the router has stored. It is asked for before Start.
func (a *App) Committed() chan struct{} {
	told := make(chan struct{}, 1)
	a.rows = func(db *store.DB) *ledger.Store { return ledger.NewStore(committing{db, told}) }
	return told
}
