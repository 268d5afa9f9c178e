package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"sluice/store"
	"sluice/store/trace"
)

// statementsMost is how many statements a connection keeps prepared.
const statementsMost = 256

// statements is a connection with its prepared statements. One goroutine at a
// time uses it. It takes no caller's context: the driver would begin a goroutine
// for each statement to watch it; statements are short, and a transaction that has begun is brought to its end.
type statements struct {
	conn     *sql.Conn
	prepared map[string]*sql.Stmt
	trace    trace.Func // nil: no one listens
}

func newStatements(ctx context.Context, db *sql.DB) (*statements, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("open connection: %w", err)
	}
	return &statements{conn: conn, prepared: map[string]*sql.Stmt{}, trace: trace.Of(ctx)}, nil
}

func (s *statements) get(text string) (*sql.Stmt, error) {
	if stmt, ok := s.prepared[text]; ok {
		return stmt, nil
	}
	if len(s.prepared) == statementsMost {
		if err := s.forget(); err != nil {
			return nil, err
		}
	}
	stmt, err := s.conn.PrepareContext(context.Background(), text)
	if err != nil {
		return nil, fmt.Errorf("prepare statement: %w", err)
	}
	s.prepared[text] = stmt
	return stmt, nil
}

func (s *statements) tell(text string, args []any) {
	if s.trace != nil {
		s.trace(text, args)
	}
}

func (s *statements) exec(text string, args []any) (rows int64, err error) {
	stmt, err := s.get(text)
	if err != nil {
		return 0, err
	}
	s.tell(text, args)
	result, err := stmt.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (s *statements) query(text string, args []any, scan func(store.Row) error) error {
	stmt, err := s.get(text)
	if err != nil {
		return err
	}
	s.tell(text, args)
	rows, err := stmt.QueryContext(context.Background(), args...)
	if err != nil {
		return fmt.Errorf("query: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err below has what matters
	for rows.Next() {
		if err := scan(rows); err != nil {
			return fmt.Errorf("scan row: %w", err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read rows: %w", err)
	}
	return nil
}

func (s *statements) forget() error {
	var errs []error
	for _, stmt := range s.prepared {
		errs = append(errs, stmt.Close())
	}
	clear(s.prepared)
	return errors.Join(errs...)
}

func (s *statements) close() error { return errors.Join(s.forget(), s.conn.Close()) }
