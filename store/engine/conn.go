package engine

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"sluice/router/ledger"
	"sluice/sessions"
)

// Conn runs reads, and writes that are merged into few transactions. It is safe for concurrent use.
type Conn struct {
	engine Engine
	group  *group
	outage outage

	closing sync.Once
	closed  error // error of the engine's Close

	mu     sync.Mutex
	failed error // error of the last write, if the database was at fault
}

// NewConn uses an engine whose schema is up to date. The log reports when the database becomes unavailable and when
// it is back; nil means no logs.
func NewConn(engine Engine, log *slog.Logger) *Conn {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Conn{engine: engine, group: newGroup(engine), outage: outage{log: log}}
}

// WordQuery calls [Engine.WordQuery].
func (c *Conn) WordQuery(level int, field WordField) string { return c.engine.WordQuery(level, field) }

// Close finishes waiting writes and closes the database. Further calls do nothing.
func (c *Conn) Close() error {
	c.closing.Do(func() {
		c.group.stop()
		c.closed = c.engine.Close()
	})
	return c.closed
}

// Change applies statements without an entry in the audit trail.
func (c *Conn) Change(ctx context.Context, write Write) error { return c.Apply(ctx, write, nil) }

// Apply runs statements and adds audit entries in one transaction.
func (c *Conn) Apply(ctx context.Context, write Write, trail Trail, ended ...Ended) error {
	for _, s := range write {
		clean(s.Args)
	}
	began := c.outage.begin()
	err := c.group.commit(ctx, write, trail, ended...)
	c.outage.end(began, true, err)
	c.note(err)
	return err
}

// note keeps a database error for Ready until a write succeeds.
func (c *Conn) note(err error) {
	if err != nil && !IsUnavailable(err) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = err
}

// Ready returns nil if the database can be read and written, and otherwise an error that says what is wrong.
func (c *Conn) Ready(ctx context.Context) error {
	var n int64
	if err := c.One(ctx, `SELECT count(*) FROM partitions`, nil, &n); err != nil {
		return err
	}
	c.mu.Lock()
	failed := c.failed
	c.mu.Unlock()
	if failed == nil {
		return nil
	}
	// A write has failed: find out whether the next one would.
	return c.Change(ctx, Write{{SQL: `INSERT INTO probe (id, count) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET count = probe.count + 1`}})
}

// Query reads, and records whether the database could be read.
func (c *Conn) Query(ctx context.Context, sql string, args []any, scan func(Row) error) error {
	clean(args)
	began := c.outage.begin()
	err := c.engine.Query(ctx, sql, args, scan)
	if errors.Is(err, errEnough) { // the database was read
		c.outage.end(began, false, nil)
		return err
	}
	c.outage.end(began, false, err)
	return err
}

// One reads the single row of a query; without a row it returns ErrNotFound.
func (c *Conn) One(ctx context.Context, sql string, args []any, dest ...any) error {
	found := false
	err := c.Query(ctx, sql, args, func(row Row) error {
		found = true
		return row.Scan(dest...)
	})
	if err == nil && !found {
		err = sessions.ErrNotFound
	}
	return err
}

// All reads the rows of a query.
func All[T any](ctx context.Context, c *Conn, sql string, args []any, scan func(Row) (T, error)) ([]T, error) {
	var rows []T
	err := c.Query(ctx, sql, args, func(row Row) error {
		v, err := scan(row)
		if err == nil {
			rows = append(rows, v)
		}
		return err
	})
	return rows, err
}

// errEnough ends the reading of a list at its limit.
var errEnough = errors.New("enough is read")

// Listed reads a page of a list, up to its limits of rows and bytes.
func Listed[T any](ctx context.Context, c *Conn, b *ledger.Bound, limit int, query string, args []any, scan func(Row) (T, error)) ([]T, error) {
	query += Limit(limit)
	if b == nil {
		return All(ctx, c, query, args, scan)
	}
	var rows []T
	read := 0
	err := c.Query(ctx, query, args, func(row Row) error {
		v, err := scan(metered{row, &read})
		if err != nil {
			return err
		}
		rows = append(rows, v)
		if read >= b.Bytes {
			return errEnough
		}
		return nil
	})
	b.More = len(rows) == limit || errors.Is(err, errEnough)
	if errors.Is(err, errEnough) {
		err = nil
	}
	return rows, err
}

// metered is a row that counts the bytes of the texts read from it.
type metered struct {
	Row
	read *int
}

// Scan implements [Row].
func (m metered) Scan(dest ...any) error {
	err := m.Row.Scan(dest...)
	for _, d := range dest {
		switch v := d.(type) {
		case *string:
			*m.read += len(*v)
		case *[]byte:
			*m.read += len(*v)
		}
	}
	return err
}

// Single reads the only row of a query; without a row it returns ErrNotFound.
func Single[T any](ctx context.Context, c *Conn, sql string, args []any, scan func(Row) (T, error)) (T, error) {
	rows, err := All(ctx, c, sql, args, scan)
	if err == nil && len(rows) == 0 {
		err = sessions.ErrNotFound
	}
	if err != nil {
		var zero T
		return zero, err
	}
	return rows[0], nil
}
