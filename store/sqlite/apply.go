package sqlite

import (
	"context"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"

	"sluice/store/engine"
)

// errHeadMoved means that the head of the audit trail is not where this process has left it.
var errHeadMoved = errors.New("the head of its chain was changed")

// Apply implements [engine.Engine]. If another program has changed the head of the audit trail, the transaction is
// rolled back and repeated after the stored head, so that nothing of the first attempt stays.
func (e *database) Apply(_ context.Context, writes []engine.Write, trail engine.Trail) (guilty int, err error) {
	known := e.head != nil
	guilty, err = e.attempt(writes, trail)
	if known && errors.Is(err, errHeadMoved) {
		guilty, err = e.attempt(writes, trail)
	}
	if err == nil {
		return -1, nil
	}
	err = explain(err, e.dir)
	if engine.IsUnavailable(err) {
		guilty = -1
	}
	return guilty, err
}

// attempt runs the transaction. If it fails, it is rolled back, and the head is read again.
func (e *database) attempt(writes []engine.Write, trail engine.Trail) (guilty int, err error) {
	committed := false
	defer func() {
		if !committed {
			e.head = nil
			// After some errors SQLite has already rolled back, and this statement returns an error that says so.
			_, _ = e.stmts.exec(`ROLLBACK`, nil)
		}
	}()
	guilty, err = e.transact(writes, trail)
	committed = err == nil
	return guilty, err
}

func (e *database) transact(writes []engine.Write, trail engine.Trail) (guilty int, err error) {
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
	if err := e.tell(trail); err != nil {
		return -1, explainTrail(err, e.dir)
	}
	if _, err := e.stmts.exec(`COMMIT`, nil); err != nil {
		return -1, fmt.Errorf("commit transaction: %w", err)
	}
	return -1, nil
}

// tell appends to the audit trail. The head of its chain is known from the last transaction, unless that failed: only
// this process writes.
func (e *database) tell(trail engine.Trail) error {
	if len(trail) == 0 {
		return nil
	}
	if e.head == nil {
		if err := e.readHead(); err != nil {
			return err
		}
	}
	statements, next := trail.Link(*e.head)
	for _, s := range statements {
		rows, err := e.stmts.exec(s.SQL, s.Args)
		switch {
		case isUnique(err), sqlite.ErrCode(err) == sqlite.ResultConstraintTrigger: // another program has written this entry
			return fmt.Errorf("%w: %w", errHeadMoved, err)
		case err != nil:
			return fmt.Errorf("run statement: %w", err)
		case rows == 0:
			return errHeadMoved
		}
	}
	e.head = &next
	return nil
}

func (e *database) readHead() error {
	err := e.stmts.query(engine.FreeHead, nil, func(row engine.Row) error {
		e.head = &engine.Head{}
		return e.head.Scan(row)
	})
	if err == nil && e.head == nil {
		err = engine.ErrNoHead
	}
	return err
}

func (e *database) run(s engine.Statement) error {
	rows, err := e.stmts.exec(s.SQL, s.Args)
	if s.Duplicate != nil && isUnique(err) {
		return s.Duplicate
	}
	if err != nil {
		return fmt.Errorf("run statement: %w", err)
	}
	if s.Else != nil && rows < max(s.Rows, 1) {
		return s.Else
	}
	if s.Changed != nil {
		*s.Changed = rows
	}
	return nil
}

// Query implements [engine.Engine].
func (e *database) Query(ctx context.Context, text string, args []any, scan func(engine.Row) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	reader, err := e.readers.take(ctx)
	switch {
	case errors.Is(err, errClosed), err != nil && ctx.Err() != nil:
		return err
	case err != nil:
		return explain(err, e.dir)
	}
	defer e.readers.giveBack(reader)
	return explain(reader.query(text, args, scan), e.dir)
}

func isUnique(err error) bool {
	switch sqlite.ErrCode(err) {
	case sqlite.ResultConstraintUnique, sqlite.ResultConstraintPrimaryKey, sqlite.ResultConstraintRowID:
		return true
	}
	return false
}
