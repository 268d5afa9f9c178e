package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"sluice/store/engine"
)

// commit appends to the audit trail after head, which this transaction has locked, and commits, in one round trip.
func (e *database) commit(ctx context.Context, conn *pgxpool.Conn, head *engine.Head, trail engine.Trail) error {
	links, err := e.links(ctx, conn, head, trail)
	if err != nil {
		return err
	}
	batch := &pgx.Batch{}
	for _, s := range links {
		batch.Queue(e.sql.get(s.SQL), s.Args...)
	}
	batch.Queue(`COMMIT`)
	results := conn.SendBatch(ctx, batch)
	defer results.Close() //nolint:errcheck // every result was read, or one before says what went wrong
	for _, s := range links {
		tag, err := results.Exec()
		if err := outcome(s, tag, err); err != nil {
			return linkFault(err)
		}
	}
	tag, err := results.Exec()
	switch {
	case err != nil:
		return commitFault(err)
	case tag.String() != "COMMIT":
		return fmt.Errorf("commit transaction: the server answered %s", tag)
	}
	return nil
}

// links returns the statements that append to the trail. If every chain was locked, it waits for one.
func (e *database) links(ctx context.Context, conn *pgxpool.Conn, head *engine.Head, trail engine.Trail) (links []engine.Statement, err error) {
	if len(trail) == 0 {
		return nil, nil
	}
	if head == nil {
		head, err = scanHead(conn.QueryRow(ctx, e.sql.get(engine.AnyHead)))
	}
	switch {
	case err != nil:
		return nil, lostBeforeCommit(ctx, err)
	case head == nil:
		return nil, engine.BrokenTrail(engine.ErrNoHead)
	}
	links, _ = trail.Link(*head)
	return links, nil
}

// scanHead reads a head; without a row it returns nil.
func scanHead(row pgx.Row) (*engine.Head, error) {
	var head engine.Head
	err := head.Scan(row)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("take a chain of the audit trail: %w", err)
	}
	return &head, nil
}

// linkFault separates a trail that can't be extended from an error of the server. The commit was sent together with
// it, so after a lost connection the outcome is unknown.
func linkFault(err error) error {
	if _, refused := errors.AsType[*pgconn.PgError](err); !refused || undone(err) {
		return commitFault(err)
	}
	if err = explain(err); engine.IsUnavailable(err) {
		return err
	}
	return engine.BrokenTrail(err)
}

// commitFault handles a commit that was sent and not confirmed.
func commitFault(err error) error {
	if undone(err) {
		return errors.Join(errUndone, err)
	}
	return unavailable("the connection broke during a commit", "nothing: writes are retried; check that the server is running", err)
}
