package store

import (
	"context"
)

// Cursors reads what an account has saved, by name.
func (db *DB) Cursors(ctx context.Context, account string) (map[string]string, error) {
	type cursor struct{ name, value string }
	rows, err := all(ctx, db, `SELECT name, value FROM cursors WHERE account = ?`, []any{account}, func(row Row) (cursor, error) {
		var c cursor
		err := row.Scan(&c.name, &c.value)
		return c, err
	})
	if err != nil {
		return nil, err
	}
	cursors := make(map[string]string, len(rows))
	for _, c := range rows {
		cursors[c.name] = c.value
	}
	return cursors, nil
}

// SaveCursor replaces one value of an account. It returns once that is durable.
func (db *DB) SaveCursor(ctx context.Context, account, name, value string) error {
	return db.write(ctx, Write{{
		SQL:  `INSERT INTO cursors (account, name, value) VALUES (?, ?, ?) ON CONFLICT (account, name) DO UPDATE SET value = excluded.value`,
		Args: []any{account, name, value},
	}})
}
