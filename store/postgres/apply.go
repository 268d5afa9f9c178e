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
	head, guilty, err := e.send(ctx, conn, writes, trail)
	if err == nil {
		guilty, err = -1, e.commit(ctx, conn, head, trail)
	}
	if err != nil {
		// If the connection is broken, the server rolls back; the pool drops a connection that is still in a transaction.
		_, _ = conn.Exec(ctx, `ROLLBACK`)
	}
	return guilty, err
}

// send runs all statements except the commit in one round trip, because their results must be checked first. If there
// is something to add to the audit trail, it also locks the head of a free chain; the result may be nil.
func (e *database) send(ctx context.Context, conn *pgxpool.Conn, writes []engine.Write, trail engine.Trail) (head *engine.Head, guilty int, err error) {
	batch := &pgx.Batch{}
	batch.Queue(`BEGIN`)
	for _, w := range writes {
		for _, s := range w {
			batch.Queue(e.sql.get(s.SQL), s.Args...)
		}
	}
	if len(trail) > 0 {
		batch.Queue(e.sql.get(engine.FreeHead))
	}
	results := conn.SendBatch(ctx, batch)
	defer func() {
		if closed := results.Close(); err == nil && closed != nil {
			head, guilty, err = nil, -1, fmt.Errorf("send writes: %w", closed)
		}
	}()
	if _, err := results.Exec(); err != nil {
		return nil, -1, lostBeforeCommit(ctx, fmt.Errorf("begin transaction: %w", err))
	}
	for i, w := range writes {
		for _, s := range w {
			tag, err := results.Exec()
			if err := outcome(s, tag, err); err != nil {
				return nil, i, lostBeforeCommit(ctx, err)
			}
		}
	}
	if len(trail) > 0 {
		head, err = scanHead(results.QueryRow())
		err = lostBeforeCommit(ctx, err)
	}
	return head, -1, err
}

// outcome returns nil if the statement has changed what it must.
func outcome(s engine.Statement, tag pgconn.CommandTag, err error) error {
	e, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case ok && e.Code == uniqueViolation && s.Duplicate != nil:
		return s.Duplicate
	case err != nil:
		return fmt.Errorf("run statement: %w", err)
	case s.Else != nil && tag.RowsAffected() < max(s.Rows, 1):
		return s.Else
	case s.Changed != nil:
		*s.Changed = tag.RowsAffected()
	}
	return nil
}

// lostBeforeCommit marks an error that a retry may fix: the commit was not sent yet.
func lostBeforeCommit(ctx context.Context, err error) error {
	if ctx.Err() == nil && (undone(err) || broken(err)) {
		return errors.Join(errUndone, err)
	}
	return err
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
