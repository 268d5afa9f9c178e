package store

import (
	"context"

	"sluice/store/engine"
)

// Cursors reads the values that an account has saved, by name.
func (db cursorTable) Cursors(ctx context.Context, account string) (map[string]string, error) {
	type cursor struct{ name, value string }
	rows, err := engine.All(ctx, db.Conn, `SELECT name, value FROM cursors WHERE account = ?`, []any{account}, func(row engine.Row) (cursor, error) {
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

// SaveCursor replaces one value of an account. It returns when the value is durable.
func (db cursorTable) SaveCursor(ctx context.Context, account, name, value string) error {
	return db.Change(ctx, engine.Write{{
		SQL:  `INSERT INTO cursors (account, name, value) VALUES (?, ?, ?) ON CONFLICT (account, name) DO UPDATE SET value = excluded.value`,
		Args: []any{account, name, value},
	}})
}
