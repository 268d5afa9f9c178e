package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"sluice/internal/pause"
	"sluice/store/engine"
)

// tries is how often a transaction is tried that failed for outside reasons: a conflict with another replica's locks,
// or a dead idle connection.
const tries = 6

// errUndone marks a transaction that was certainly not committed and may be retried.
var errUndone = errors.New("transaction was rolled back")

// Apply implements [engine.Engine].
func (e *database) Apply(ctx context.Context, writes []engine.Write, trail engine.Trail) (guilty int, err error) {
	// A pause lets the other transaction finish before the next try, and spreads the retries of competing replicas.
	pauses := pause.Doubling(20*time.Millisecond, time.Second, 1)
	for range tries {
		guilty, err = e.transact(ctx, writes, trail)
		if !errors.Is(err, errUndone) {
			break
		}
		if pause.Wait(ctx, pauses.NextBackOff()) != nil {
			break
		}
	}
	switch {
	case err != nil && ctx.Err() != nil:
		err = hangs(err)
	case err != nil:
		err = explain(err)
	}
	if engine.IsUnavailable(err) {
		guilty = -1
	}
	return guilty, err
}

func (e *database) transact(ctx context.Context, writes []engine.Write, trail engine.Trail) (guilty int, err error) {
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		return -1, fmt.Errorf("connect: %w", err)
	}
	defer conn.Release()
	guilty, err = e.send(ctx, conn, writes, trail, addToFree)
	if errors.Is(err, errNoHead) { // every chain is locked by another transaction, or the table of chains is empty
		_, _ = conn.Exec(ctx, `ROLLBACK`)
		guilty, err = e.send(ctx, conn, writes, trail, addToAny)
	}
	if errors.Is(err, errNoHead) {
		err = engine.BrokenTrail(engine.ErrNoHead)
	}
	if err != nil {
		// If the connection is broken, the server rolls back; the pool drops a connection that is still in a transaction.
		_, _ = conn.Exec(ctx, `ROLLBACK`)
	}
	return guilty, err
}

// errNoHead means that no chain of the audit trail was free.
var errNoHead = errors.New("no chain of the audit trail is free")

// send runs all statements and the commit in one round trip. A statement that changes too few rows fails on the server, which
// then skips the rest, including the commit.
func (e *database) send(ctx context.Context, conn *pgxpool.Conn, writes []engine.Write, trail engine.Trail, addTrail string) (guilty int, err error) {
	batch := &pgx.Batch{}
	batch.Queue(`BEGIN`)
	for _, w := range writes {
		for _, s := range w {
			batch.Queue(e.sql.write(s), s.Args...)
		}
	}
	if len(trail) > 0 {
		batch.Queue(addTrail, columns(trail)...)
	}
	batch.Queue(`COMMIT`)
	results := conn.SendBatch(ctx, batch)
	defer results.Close() //nolint:errcheck // every result was read, or one before says what went wrong
	if _, err := results.Exec(); err != nil {
		return -1, fault(fmt.Errorf("begin transaction: %w", err))
	}
	for i, w := range writes {
		for _, s := range w {
			tag, err := results.Exec()
			if err := outcome(s, tag, err); err != nil {
				return i, fault(err)
			}
		}
	}
	if len(trail) > 0 {
		if _, err := results.Exec(); err != nil {
			return -1, trailFault(err)
		}
	}
	tag, err := results.Exec()
	switch {
	case err != nil:
		return -1, commitFault(fmt.Errorf("commit transaction: %w", err))
	case tag.String() != "COMMIT":
		return -1, fmt.Errorf("commit transaction: the server answered %s", tag)
	}
	return -1, nil
}

// outcome returns nil if the statement has changed what it must.
func outcome(s engine.Statement, tag pgconn.CommandTag, err error) error {
	e, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case ok && e.Code == uniqueViolation && s.Duplicate != nil:
		return s.Duplicate
	case ok && tooFew(e):
		return s.Else
	case err != nil:
		return fmt.Errorf("run statement: %w", err)
	case s.Changed != nil:
		*s.Changed = tag.RowsAffected()
	}
	return nil
}

// fault marks an error of a statement after which the transaction may be tried again: the server has answered that it has failed,
// or was sent nothing. Otherwise nobody knows what became of the commit, which was sent together with the statements.
func fault(err error) error {
	_, answered := errors.AsType[*pgconn.PgError](err)
	if undone(err) || answered && broken(err) || pgconn.SafeToRetry(err) {
		return errors.Join(errUndone, err)
	}
	return commitFault(err)
}

// commitFault handles a commit that was sent and not confirmed.
func commitFault(err error) error {
	switch {
	case undone(err):
		return errors.Join(errUndone, err)
	case broken(err):
		return unavailable("the connection broke during a commit", "nothing: writes are retried; check that the server is running", err)
	}
	return err
}

// trailFault separates a trail that can't be extended from an error of the server.
func trailFault(err error) error {
	e, refused := errors.AsType[*pgconn.PgError](err)
	switch {
	case refused && tooFew(e):
		return errNoHead
	case !refused || undone(err) || broken(err):
		return fault(err)
	case e.Code == lockTimeout, e.Code == canceled: // by a setting of the server, or its administrator
		return hangs(err)
	}
	if err = explain(err); engine.IsUnavailable(err) {
		return err
	}
	return engine.BrokenTrail(err)
}

// Query implements [engine.Engine].
func (e *database) Query(ctx context.Context, text string, args []any, scan func(engine.Row) error) error {
	s := e.sql.statement(text)
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if s.brief {
		if e.briefs.begin() {
			defer e.briefs.done()
		} else {
			switch rows, err := e.briefs.read(ctx, s.text, args); {
			case err != nil && caller.Err() == nil:
				return hangs(err)
			case err != nil:
				return explain(err)
			case rows != nil:
				return explain(rows.each(scan))
			}
		}
	}
	for try := 1; ; try++ {
		seen, err := e.query(ctx, s.text, args, scan)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil && caller.Err() == nil {
			return hangs(err)
		}
		if seen || try == tries || ctx.Err() != nil || !broken(err) {
			return explain(err)
		}
	}
}

// query also reports whether scan was called: the read must then not be repeated.
func (e *database) query(ctx context.Context, text string, args []any, scan func(engine.Row) error) (seen bool, err error) {
	rows, err := e.pool.Query(ctx, text, args...)
	if err != nil {
		return false, fmt.Errorf("query: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		seen = true
		if err := scan(rows); err != nil {
			return seen, fmt.Errorf("scan row: %w", err)
		}
	}
	if err := rows.Err(); err != nil {
		return seen, fmt.Errorf("query: %w", err)
	}
	return seen, nil
}
