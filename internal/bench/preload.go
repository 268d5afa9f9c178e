package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"
)

// preloadSQLite writes copies of the conversation into a database that no gateway has open.
func preloadSQLite(ctx context.Context, path string, people int) (err error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(wal)&_pragma=synchronous(off)&_pragma=cache_size(-200000)")
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	defer db.Close() //nolint:errcheck // all was committed
	db.SetMaxOpenConns(1)
	t, err := readTemplate(ctx, db)
	if err != nil {
		return err
	}
	const atATime = 2000 // people per transaction
	for from := 0; from < people; from += atATime {
		if err := t.insert(ctx, db, from, min(from+atATime, people)); err != nil {
			return fmt.Errorf("store the past: %w", err)
		}
	}
	if _, err := db.ExecContext(ctx, `ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
		return fmt.Errorf("store the past: %w", err)
	}
	return nil
}

func (t *template) insert(ctx context.Context, db *sql.DB, from, to int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // without effect after the commit
	for _, name := range pastTables {
		if err := t.insertTable(ctx, tx, name, from, to); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return tx.Commit()
}

func (t *template) insertTable(ctx context.Context, tx *sql.Tx, name string, from, to int) error {
	table := t.tables[name]
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(table.columns)), ", ")
	insert, err := tx.PrepareContext(ctx, "INSERT INTO "+name+" ("+strings.Join(table.columns, ", ")+") VALUES ("+marks+")")
	if err != nil {
		return err
	}
	defer insert.Close() //nolint:errcheck // the transaction's end closes it too
	for n := from; n < to; n++ {
		c := t.copyOf(n)
		for _, row := range table.rows {
			if _, err := insert.ExecContext(ctx, c.row(table.columns, row)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// preloadPostgres does the same with COPY.
func preloadPostgres(ctx context.Context, url string, people int) error {
	db, err := sql.Open("pgx", url)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	defer db.Close() //nolint:errcheck // only read from
	t, err := readTemplate(ctx, db)
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	defer conn.Close(ctx) //nolint:errcheck // all was committed
	for _, name := range pastTables {
		table := t.tables[name]
		each := len(table.rows)
		source := pgx.CopyFromSlice(people*each, func(i int) ([]any, error) {
			return t.copyOf(i/each).row(table.columns, table.rows[i%each]), nil
		})
		if _, err := conn.CopyFrom(ctx, pgx.Identifier{name}, table.columns, source); err != nil {
			return fmt.Errorf("store the past: %s: %w", name, err)
		}
	}
	if _, err := conn.Exec(ctx, "VACUUM ANALYZE"); err != nil {
		return fmt.Errorf("store the past: %w", err)
	}
	return nil
}
