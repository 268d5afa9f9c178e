package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"sluice/router/ledger"
	"sluice/sessions"
)

// DB is the store on one engine. It is safe for concurrent use.
type DB struct {
	engine Engine
	group  *group
	outage outage

	closing sync.Once
	closed  error // of the engine's Close

	mu     sync.Mutex
	failed error // of the last write, if the database was at fault
}

var (
	_ ledger.Store   = (*DB)(nil)
	_ ledger.Browser = (*DB)(nil)
)

// New makes a store on an engine whose schema is up to date. The log hears when the database goes away and when it is back; nil: it does not.
func New(engine Engine, log *slog.Logger) *DB {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &DB{engine: engine, group: newGroup(engine), outage: outage{log: log}}
}

// Close finishes the writes that wait and closes the database. Closing again does nothing.
func (db *DB) Close() error {
	db.closing.Do(func() {
		db.group.stop()
		db.closed = db.engine.Close()
	})
	return db.closed
}

// Commit implements [ledger.Store].
func (db *DB) Commit(ctx context.Context, change ledger.Change) error {
	write, trail, err := changeWrite(change)
	if err != nil {
		return err
	}
	err = db.run(ctx, write, trail)
	if errors.Is(err, sessions.ErrConflict) {
		return db.conflict(ctx, change)
	}
	return err
}

// CommitSession implements [sessions.Store].
func (db *DB) CommitSession(ctx context.Context, change sessions.Change) error {
	return db.Commit(ctx, ledger.Change{Change: change})
}

// write applies statements that no entry of the audit trail tells of.
func (db *DB) write(ctx context.Context, write Write) error { return db.run(ctx, write, nil) }

func (db *DB) run(ctx context.Context, write Write, trail Trail) error {
	for _, s := range write {
		clean(s.Args)
	}
	began := db.outage.begin()
	err := db.group.commit(ctx, write, trail)
	db.outage.end(began, true, err)
	db.note(err)
	return err
}

// note keeps a database's fault for Ready until a write succeeds.
func (db *DB) note(err error) {
	if err != nil && !IsUnavailable(err) {
		return
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	db.failed = err
}

// conflict tells a lost partition from a row that is not as expected.
func (db *DB) conflict(ctx context.Context, change ledger.Change) error {
	for _, m := range change.Runs {
		if err := db.fenced(ctx, m.Run.Partition, m.Run.Epoch); err != nil {
			return err
		}
	}
	for _, m := range change.Deliveries {
		if err := db.fenced(ctx, m.Delivery.Partition, m.Delivery.Epoch); err != nil {
			return err
		}
	}
	return sessions.ErrConflict
}

func (db *DB) fenced(ctx context.Context, partition int, epoch int64) error {
	if epoch == 0 {
		return nil
	}
	var stored int64
	err := db.one(ctx, `SELECT epoch FROM partitions WHERE id = ?`, []any{partition}, &stored)
	switch {
	case errors.Is(err, sessions.ErrNotFound), err == nil && stored != epoch:
		return sessions.ErrFenced
	}
	return err
}

// Ready returns nil if the database can be read and written, else what is wrong with it.
func (db *DB) Ready(ctx context.Context) error {
	var n int64
	if err := db.one(ctx, `SELECT count(*) FROM partitions`, nil, &n); err != nil {
		return err
	}
	db.mu.Lock()
	failed := db.failed
	db.mu.Unlock()
	if failed == nil {
		return nil
	}
	// A write failed: see whether the next one would.
	return db.write(ctx, Write{{SQL: `INSERT INTO probe (id, count) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET count = probe.count + 1`}})
}

// query reads, and notes whether the database could be read.
func (db *DB) query(ctx context.Context, sql string, args []any, scan func(Row) error) error {
	clean(args)
	began := db.outage.begin()
	err := db.engine.Query(ctx, sql, args, scan)
	if errors.Is(err, errEnough) { // the database was read
		db.outage.end(began, false, nil)
		return err
	}
	db.outage.end(began, false, err)
	return err
}

// one reads the single row of a query; none is ErrNotFound.
func (db *DB) one(ctx context.Context, sql string, args []any, dest ...any) error {
	found := false
	err := db.query(ctx, sql, args, func(row Row) error {
		found = true
		return row.Scan(dest...)
	})
	if err == nil && !found {
		err = sessions.ErrNotFound
	}
	return err
}

// all reads the rows of a query.
func all[T any](ctx context.Context, db *DB, sql string, args []any, scan func(Row) (T, error)) ([]T, error) {
	var rows []T
	err := db.query(ctx, sql, args, func(row Row) error {
		v, err := scan(row)
		if err == nil {
			rows = append(rows, v)
		}
		return err
	})
	return rows, err
}

// errEnough ends the reading of a list whose bound is reached.
var errEnough = errors.New("enough is read")

// listed reads a page of a list, up to its limit of rows and its bound of bytes.
func listed[T any](ctx context.Context, db *DB, b *ledger.Bound, limit int, query string, args []any, scan func(Row) (T, error)) ([]T, error) {
	query += most(limit)
	if b == nil {
		return all(ctx, db, query, args, scan)
	}
	var rows []T
	read := 0
	err := db.query(ctx, query, args, func(row Row) error {
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

// metered is a row that counts the bytes of the texts that are read from it.
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

// single reads the only row of a query; none is ErrNotFound.
func single[T any](ctx context.Context, db *DB, sql string, args []any, scan func(Row) (T, error)) (T, error) {
	rows, err := all(ctx, db, sql, args, scan)
	if err == nil && len(rows) == 0 {
		err = sessions.ErrNotFound
	}
	if err != nil {
		var zero T
		return zero, err
	}
	return rows[0], nil
}

// FixPartitions makes sure that the work is cut into n parts, as it was when the
// store was new: what belongs to a part that is not there would wait for ever, and
// a conversation could get two owners. The row of the last part says the number.
func (db *DB) FixPartitions(ctx context.Context, n int) error {
	for range 2 {
		var last int
		err := db.one(ctx, `SELECT id FROM partitions ORDER BY id DESC LIMIT 1`, nil, &last)
		switch {
		case err == nil && last+1 == n:
			return nil
		case err == nil:
			return &Unavailable{
				Reason: fmt.Sprintf("its work is cut into %d parts, the configuration says %d", last+1, n),
				Fix:    fmt.Sprintf("set limits.partitions to %d", last+1),
			}
		case !errors.Is(err, sessions.ErrNotFound):
			return fmt.Errorf("read partitions: %w", err)
		}
		first := Statement{SQL: `INSERT INTO partitions (owner, id, epoch) VALUES ('', ?, 0)`, Args: []any{n - 1}, Duplicate: sessions.ErrConflict}
		if err := db.write(ctx, Write{first}); err != nil && !errors.Is(err, sessions.ErrConflict) {
			return fmt.Errorf("store number of partitions: %w", err)
		}
	}
	return fmt.Errorf("fix partitions: %w", sessions.ErrConflict)
}

// takeTries bounds how often a take is tried against others that take the same partition.
const takeTries = 100

// TakePartition implements [ledger.Store].
func (db *DB) TakePartition(ctx context.Context, partition int, owner string) (int64, error) {
	for range takeTries {
		epoch, err := db.takePartition(ctx, partition, owner)
		if err == nil {
			return epoch, nil
		}
		if !errors.Is(err, sessions.ErrConflict) {
			return 0, fmt.Errorf("take partition: %w", err)
		}
	}
	return 0, fmt.Errorf("take partition %d: %w: others take it over and over", partition, sessions.ErrConflict)
}

// takePartition makes the epoch that it has read greater by one, unless another has.
func (db *DB) takePartition(ctx context.Context, partition int, owner string) (int64, error) {
	var epoch int64
	err := db.one(ctx, `SELECT epoch FROM partitions WHERE id = ?`, []any{partition}, &epoch)
	take := Statement{
		SQL:  `UPDATE partitions SET epoch = epoch + 1, owner = ? WHERE id = ? AND epoch = ?`,
		Args: []any{owner, partition, epoch}, Else: sessions.ErrConflict,
	}
	if errors.Is(err, sessions.ErrNotFound) {
		take, err = Statement{
			SQL:  `INSERT INTO partitions (owner, id, epoch) VALUES (?, ?, 1)`,
			Args: []any{owner, partition}, Duplicate: sessions.ErrConflict,
		}, nil
	}
	if err != nil {
		return 0, err
	}
	return epoch + 1, db.write(ctx, Write{take})
}
