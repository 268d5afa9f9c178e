package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sluice/store/engine"
)

// Schema is the newest migration that the program has.
func Schema() int64 { return known().Newest }

// Copy writes the database of a state folder, as of one moment, into a new file, and returns the version of its schema. A
// gateway may use the database meanwhile. The copy has no unused space.
func Copy(ctx context.Context, dir, to string) (schema int64, err error) {
	path := filepath.Join(dir, FileName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%s has no database: has a gateway ever run with this state folder?", dir)
	}
	err = using(path, "mode=rw", func(db *sql.DB) error {
		if _, err := db.ExecContext(ctx, `VACUUM INTO ?`, to); err != nil {
			return fmt.Errorf("copy database: %w", err)
		}
		return nil
	})
	if err != nil {
		return 0, explain(err, dir)
	}
	if err := os.Chmod(to, 0o600); err != nil {
		return 0, err
	}
	var have engine.Schema
	err = using(to, "mode=ro", func(db *sql.DB) error { return db.QueryRowContext(ctx, engine.Applied).Scan(&have.Newest, &have.Count) })
	return have.Newest, err
}

// Check reads a whole copy and fails if it is damaged.
func Check(ctx context.Context, path string) error {
	return using(path, "mode=ro", func(db *sql.DB) error {
		var found string
		if err := db.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&found); err != nil {
			return fmt.Errorf("check the database: %w", err)
		}
		if found != "ok" {
			return fmt.Errorf("the database is damaged: %s", found)
		}
		return nil
	})
}

// using opens a database for one use.
func using(path, mode string, do func(db *sql.DB) error) error {
	db, err := sql.Open("sqlite", "file:"+escaped(path)+"?"+mode+"&_pragma=busy_timeout(10000)")
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	return errors.Join(do(db), db.Close())
}
