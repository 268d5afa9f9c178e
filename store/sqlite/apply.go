package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	sqlite3 "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"sluice/store"
)

// statements keeps the writing connection with its prepared statements. The
// program has a fixed number of different statements, so the map is bounded.
type statements struct {
	conn     *sql.Conn
	prepared map[string]*sql.Stmt
}

func newStatements(ctx context.Context, db *sql.DB) (*statements, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("open writing connection: %w", err)
	}
	return &statements{conn: conn, prepared: map[string]*sql.Stmt{}}, nil
}

// exec runs a statement. It takes no caller's context: the driver would begin a
// goroutine for each statement to watch it, and a transaction that has begun is brought to its end.
func (s *statements) exec(text string, args []any) (rows int64, err error) {
	stmt, ok := s.prepared[text]
	if !ok {
		if stmt, err = s.conn.PrepareContext(context.Background(), text); err != nil {
			return 0, err
		}
		s.prepared[text] = stmt
	}
	result, err := stmt.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (s *statements) close() error {
	var errs []error
	for _, stmt := range s.prepared {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, s.conn.Close())...)
}

// Apply implements [store.Engine].
func (e *engine) Apply(_ context.Context, writes []store.Write) (guilty int, err error) {
	committed := false
	defer func() {
		if !committed {
			// After some faults SQLite has rolled back by itself; then this is an error that says so.
			_, _ = e.stmts.exec(`ROLLBACK`, nil)
		}
	}()
	guilty, err = e.transact(writes)
	if err == nil {
		committed = true
		return -1, nil
	}
	err = explain(err, e.dir)
	if store.IsUnavailable(err) {
		guilty = -1
	}
	return guilty, err
}

func (e *engine) transact(writes []store.Write) (guilty int, err error) {
	if _, err := e.stmts.exec(`BEGIN IMMEDIATE`, nil); err != nil {
		return -1, fmt.Errorf("begin transaction: %w", err)
	}
	for i, w := range writes {
		for _, s := range w {
			if err := e.run(s); err != nil {
				return i, err
			}
		}
	}
	if _, err := e.stmts.exec(`COMMIT`, nil); err != nil {
		return -1, fmt.Errorf("commit transaction: %w", err)
	}
	return -1, nil
}

func (e *engine) run(s store.Statement) error {
	rows, err := e.stmts.exec(s.SQL, s.Args)
	if s.Duplicate != nil && isUnique(err) {
		return s.Duplicate
	}
	if err != nil {
		return fmt.Errorf("run statement: %w", err)
	}
	if rows == 0 && s.Else != nil {
		return s.Else
	}
	return nil
}

// Query implements [store.Engine].
func (e *engine) Query(ctx context.Context, text string, args []any, scan func(store.Row) error) error {
	rows, err := e.read.QueryContext(ctx, text, args...)
	if err != nil {
		return explain(fmt.Errorf("query: %w", err), e.dir)
	}
	defer rows.Close() //nolint:errcheck // rows.Err below has what matters
	for rows.Next() {
		if err := scan(rows); err != nil {
			return fmt.Errorf("scan row: %w", err)
		}
	}
	if err := rows.Err(); err != nil {
		return explain(fmt.Errorf("read rows: %w", err), e.dir)
	}
	return nil
}

func isUnique(err error) bool {
	e, ok := errors.AsType[*sqlite3.Error](err)
	return ok && (e.Code() == lib.SQLITE_CONSTRAINT_UNIQUE || e.Code() == lib.SQLITE_CONSTRAINT_PRIMARYKEY || e.Code() == lib.SQLITE_CONSTRAINT_ROWID)
}
