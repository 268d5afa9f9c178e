package sqlite

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"

	"sluice/store/engine"
)

// Apply implements [engine.Engine].
func (e *database) Apply(_ context.Context, writes []engine.Write, trail engine.Trail) (guilty int, err error) {
	committed := false
	defer func() {
		if !committed {
			e.head = nil
			// After some faults SQLite has rolled back by itself; then this is an error that says so.
			_, _ = e.stmts.exec(`ROLLBACK`, nil)
		}
	}()
	guilty, err = e.transact(writes, trail)
	if err == nil {
		committed = true
		return -1, nil
	}
	err = explain(err, e.dir)
	if engine.IsUnavailable(err) {
		guilty = -1
	}
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

// tell adds to the audit trail. The head of its chain is known from the transaction before, unless that failed: this
// process alone writes. Where the database refuses what follows that head, the stored one is read.
func (e *database) tell(trail engine.Trail) error {
	if len(trail) == 0 || (e.head != nil && e.link(trail, *e.head) == nil) {
		return nil
	}
	var head engine.Head
	found := false
	err := e.stmts.query(engine.FreeHead, nil, func(row engine.Row) error { found = true; return head.Scan(row) })
	if err == nil && !found {
		err = engine.ErrNoHead
	}
	if err != nil {
		return err
	}
	return e.link(trail, head)
}

// link puts the entries behind a head.
func (e *database) link(trail engine.Trail, head engine.Head) error {
	statements, next := trail.Link(head)
	for _, s := range statements {
		rows, err := e.stmts.exec(s.SQL, s.Args)
		if err == nil && rows == 0 {
			err = engine.ErrNoHead
		}
		if err != nil {
			return fmt.Errorf("run statement: %w", err)
		}
	}
	e.head = &next
	return nil
}

func (e *database) run(s engine.Statement) error {
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
	select {
	case reader, open := <-e.readers:
		if !open {
			return errClosed
		}
		defer func() { e.readers <- reader }()
		if reader == nil {
			var err error
			if reader, err = e.reader(); err != nil {
				return explain(err, e.dir)
			}
		}
		return explain(reader.query(text, args, scan), e.dir)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func isUnique(err error) bool {
	switch sqlite.ErrCode(err) {
	case sqlite.ResultConstraintUnique, sqlite.ResultConstraintPrimaryKey, sqlite.ResultConstraintRowID:
		return true
	}
	return false
}
