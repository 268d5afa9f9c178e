package app

import (
	"context"

	"sluice/internal/config"
	"sluice/store/engine"
)

// Migrate brings the schema of the configured database up to date, logs what it does, and ends. A gateway does the same
// when it starts.
func Migrate(ctx context.Context, o Options) (done engine.Migrated, err error) {
	path, err := config.Find(o.ConfigPath)
	if err != nil {
		return done, err
	}
	cfg, err := config.System().Load(path)
	if err != nil {
		return done, err
	}
	known, err := newSecrets(cfg, "")
	if err != nil {
		return done, err
	}
	var secrets liveSecrets
	secrets.Store(known)
	log, err := newLogger(cfg.Log, cleanWriter{o.Stderr, &secrets})
	if err != nil {
		return done, err
	}
	db, err := New(cfg, o.Version, log).openStore(ctx, &done)
	if err != nil {
		return done, err
	}
	return done, db.Close()
}
