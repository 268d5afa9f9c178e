package app

import (
	"context"
	"errors"
	"fmt"

	"sluice/internal/starting"
	"sluice/store"
	"sluice/store/engine"
	"sluice/store/postgres"
	"sluice/store/sqlite"
)

// openStore opens the configured database.
func (a *App) openStore(ctx context.Context) (*store.DB, error) {
	var db *store.DB
	var err error
	if dsn := a.cfg.Store.URL.Reveal(); dsn != "" {
		db, err = postgres.Open(ctx, postgres.Config{URL: dsn, Log: a.log})
	} else {
		db, err = sqlite.Open(ctx, sqlite.Config{Dir: a.cfg.State, Log: a.log})
	}
	if err == nil {
		return db, nil
	}
	fault, away := errors.AsType[*engine.Unavailable](err)
	err = fmt.Errorf("open store: %w", err)
	if a.cfg.Store.URL.Reveal() == "" || !away || fault.Lasting {
		return nil, starting.FatalError{Err: err} // waiting repairs neither a file nor a schema
	}
	return nil, err
}
