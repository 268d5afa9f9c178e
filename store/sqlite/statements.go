package sqlite

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"sluice/store/engine"
	"sluice/store/trace"
)

const (
	statementsMax = 256             // prepared statements per connection
	busyFor       = 5 * time.Second // how long a statement waits for another program's lock
)

// statements is a connection with its prepared statements. One goroutine at a time uses it. It ignores its caller's
// context: statements are short, and a transaction that has begun is finished. It does not use database/sql, which
// copies each argument and column name on every call.
type statements struct {
	conn     *sqlite.Conn
	prepared map[string]*sqlite.Stmt
	trace    trace.Func // may be nil
}

// newStatements opens a connection and applies the pragmas.
func newStatements(path string, hears trace.Func, pragmas ...string) (*statements, error) {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return nil, fmt.Errorf("open connection: %w", err)
	}
	conn.SetBusyTimeout(busyFor)
	s := &statements{conn: conn, prepared: map[string]*sqlite.Stmt{}}
	for _, pragma := range pragmas {
		if _, err := s.exec("PRAGMA "+pragma, nil); err != nil {
			return nil, errors.Join(fmt.Errorf("set up connection: %w", err), s.close())
		}
	}
	s.trace = hears
	return s, s.forget() // the pragmas are not needed again
}

func (s *statements) get(text string, args []any) (*sqlite.Stmt, error) {
	stmt, ok := s.prepared[text]
	if !ok {
		if len(s.prepared) == statementsMax {
			if err := s.forget(); err != nil {
				return nil, err
			}
		}
		var err error
		if stmt, err = s.conn.Prepare(text); err != nil {
			return nil, fmt.Errorf("prepare statement: %w", err)
		}
		s.prepared[text] = stmt
	}
	if n := stmt.BindParamCount(); n != len(args) {
		return nil, fmt.Errorf("statement has %d parameters, got %d arguments", n, len(args))
	}
	for i, arg := range args {
		if err := bind(stmt, i+1, arg); err != nil {
			return nil, fmt.Errorf("argument %d: %w", i+1, err)
		}
	}
	return stmt, nil
}

func (s *statements) tell(text string, args []any) {
	if s.trace != nil {
		s.trace(strings.TrimPrefix(text, engine.Brief), args)
	}
}

// run executes a statement and calls row for each row.
func (s *statements) run(text string, args []any, row func(*sqlite.Stmt) error) (err error) {
	stmt, err := s.get(text, args)
	if err != nil {
		return err
	}
	s.tell(text, args)
	defer func() {
		// After a failed step, Reset returns the same error again.
		if e := errors.Join(stmt.Reset(), stmt.ClearBindings()); err == nil {
			err = e
		}
	}()
	for {
		found, err := stmt.Step()
		if err != nil {
			return err
		}
		if !found {
			return nil
		}
		if err := row(stmt); err != nil {
			return err
		}
	}
}

func (s *statements) exec(text string, args []any) (rows int64, err error) {
	if err := s.run(text, args, func(*sqlite.Stmt) error { return nil }); err != nil {
		return 0, err
	}
	return int64(s.conn.Changes()), nil
}

func (s *statements) query(text string, args []any, scan func(engine.Row) error) error {
	var rows row
	var scanned engine.Row = &rows
	failed := false
	err := s.run(text, args, func(stmt *sqlite.Stmt) error {
		rows.stmt = stmt
		err := scan(scanned)
		failed = err != nil
		return err
	})
	switch {
	case failed:
		return fmt.Errorf("scan row: %w", err)
	case err != nil:
		return fmt.Errorf("query: %w", err)
	}
	return nil
}

func (s *statements) forget() error {
	var errs []error
	for _, stmt := range s.prepared {
		errs = append(errs, stmt.Finalize())
	}
	clear(s.prepared)
	return errors.Join(errs...)
}

func (s *statements) close() error { return errors.Join(s.forget(), s.conn.Close()) }

// WordQuery implements [engine.Engine].
func (*database) WordQuery(level int, field engine.WordField) string {
	table := fmt.Sprintf("memory_words_%d", level)
	return `SELECT '` + string(field) + `', COALESCE(group_concat(rowid - ?), '') FROM ` + table + ` WHERE ` + table + ` MATCH '` + string(field) + ` : "' || ? || '"' AND rowid BETWEEN ? AND ?`
}
