package app

import (
	"context"
	"errors"
	"fmt"

	"sluice/internal/config"
)

// Migrate brings the schema of the configured database up to date, says what it does, and ends. A gateway does the same
// when it starts.
func Migrate(ctx context.Context, o Options) error {
	path, err := config.Find(o.ConfigPath)
	if err != nil {
		return err
	}
	cfg, err := config.System().Load(path)
	if err != nil {
		return err
	}
	known, err := newSecrets(cfg, "")
	if err != nil {
		return err
	}
	var secrets liveSecrets
	secrets.Store(known)
	log, err := newLogger(cfg.Log, cleanWriter{o.Stderr, &secrets})
	if err != nil {
		return err
	}
	db, err := New(cfg, o.Version, log).openStore(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(o.Stdout, "The schema of the database is up to date.")
	return errors.Join(err, db.Close())
}
