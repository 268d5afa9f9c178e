package backup

import (
	"context"
	"errors"
	"path/filepath"

	"sluice/store"
	"sluice/store/postgres"
	"sluice/store/sqlite"
)

// OpenCopy opens the store of a gateway for reading, while the gateway may run: with SQLite a copy as of one moment, with
// PostgreSQL the database itself, which must have this program's schema. done must be called at the end.
func OpenCopy(ctx context.Context, state, url string) (db *store.DB, done func() error, err error) {
	if url != "" {
		db, err = postgres.Open(ctx, postgres.Config{URL: url, AsIs: true})
		if err != nil {
			return nil, nil, err
		}
		return db, db.Close, nil
	}
	work, remove, err := workspace(state)
	if err != nil {
		return nil, nil, err
	}
	if _, err = sqlite.Copy(ctx, state, filepath.Join(work, sqlite.FileName)); err == nil {
		db, err = sqlite.Open(ctx, sqlite.Config{Dir: work})
	}
	if err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	return db, func() error { return errors.Join(db.Close(), remove()) }, nil
}

// OpenStore opens the store of a gateway. With SQLite, the gateway must not run.
func OpenStore(ctx context.Context, state, url string) (*store.DB, error) {
	if url != "" {
		return postgres.Open(ctx, postgres.Config{URL: url})
	}
	return sqlite.Open(ctx, sqlite.Config{Dir: state})
}
