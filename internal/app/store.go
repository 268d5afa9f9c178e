package app

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"sluice/internal/config"
	"sluice/internal/starting"
	"sluice/store"
	"sluice/store/engine"
	"sluice/store/postgres"
	"sluice/store/sqlite"
)

// openStore opens the configured database. done receives what was done to its schema; it may be nil.
func (a *App) openStore(ctx context.Context, done *engine.Migrated) (*store.DB, error) {
	var db *store.DB
	var err error
	if sharesStore(a.cfg) {
		db, err = postgres.Open(ctx, postgres.Config{URL: a.cfg.Store.URL.Reveal(), Log: a.log, Migrated: done})
	} else {
		db, err = sqlite.Open(ctx, sqlite.Config{Dir: a.cfg.State, Log: a.log, Migrated: done})
	}
	if err == nil && sharesStore(a.cfg) {
		if err = a.clock.Look(ctx, db.Clock, a.log); err != nil { // the database is slow or away again: waiting may help
			return nil, fmt.Errorf("open store: %w", errors.Join(err, db.Close()))
		}
	}
	if err == nil {
		return db, nil
	}
	fault, away := errors.AsType[*engine.Unavailable](err)
	err = fmt.Errorf("open store: %w", err)
	if !sharesStore(a.cfg) || !away || fault.Lasting {
		return nil, starting.FatalError{Err: err} // waiting repairs neither a file nor a schema
	}
	return nil, err
}

// sharesStore reports whether other gateways may use the same database.
func sharesStore(c *config.Config) bool { return c.Store.URL.Reveal() != "" }

// followClock keeps the clock at the time of a database that several gateways share.
func followClock(a *App) (stop func()) {
	if !sharesStore(a.cfg) {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	var following sync.WaitGroup
	following.Go(func() { a.clock.Follow(ctx, a.store.Clock, a.log) })
	return func() {
		cancel()
		following.Wait()
	}
}
