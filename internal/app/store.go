package app

import (
	"context"
	"fmt"

	"sluice/store"
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
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	return db, nil
}
