package store

import (
	"context"
	"errors"
	"log/slog"

	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/engine"
	"sluice/store/memories"
)

// DB is the store on one engine: the reads of each kind of row, and one commit for all of them. It is safe for concurrent
// use.
type DB struct {
	conn *engine.Conn
	inboxTable
	peopleTable
	sessionTable
	messageTree
	runTable
	deliveryTable
	approvalTable
	exchangeTable
	memories.Table
	todoTable
	mediaTable
	auditTable
	cursorTable
	partitionTable
	retention
}

// The kinds of rows. A table has the reads of its kind, and the writes that need no other; what belongs to a message's
// life goes through [DB.Commit].
type (
	inboxTable  struct{ *engine.Conn } // what has come in: events, what groups have said, edits
	peopleTable struct {               // who writes: pairings, and other names of conversations
		*engine.Conn
		aliased *engine.Presence
	}
	sessionTable   struct{ *engine.Conn }
	messageTree    struct{ *engine.Conn } // what was said in sessions
	runTable       struct{ *engine.Conn }
	deliveryTable  struct{ *engine.Conn }
	approvalTable  struct{ *engine.Conn }
	exchangeTable  struct{ *engine.Conn } // exchanges between agents, and their chains
	todoTable      struct{ *engine.Conn }
	mediaTable     struct{ *engine.Conn }
	auditTable     struct{ *engine.Conn }
	cursorTable    struct{ *engine.Conn } // where adapters have got to
	partitionTable struct{ *engine.Conn }
	retention      struct{ *engine.Conn } // removes what is old
)

var (
	_                = ledger.NewStore[*DB]
	_ ledger.Browser = (*DB)(nil)
)

// New makes a store on an engine whose schema is up to date. The log hears when the database goes away and when it is back; nil: no one hears.
func New(e engine.Engine, log *slog.Logger) *DB {
	c := engine.NewConn(e, log)
	return &DB{
		conn: c, inboxTable: inboxTable{c}, peopleTable: peopleTable{c, engine.NewPresence(e.Alone())}, sessionTable: sessionTable{c}, messageTree: messageTree{c},
		runTable: runTable{c}, deliveryTable: deliveryTable{c}, approvalTable: approvalTable{c}, exchangeTable: exchangeTable{c},
		Table: memories.NewTable(c, e.Alone()), todoTable: todoTable{c}, mediaTable: mediaTable{c}, auditTable: auditTable{c},
		cursorTable: cursorTable{c}, partitionTable: partitionTable{c}, retention: retention{c},
	}
}

// Close finishes the writes that wait and closes the database. Closing again does nothing.
func (db *DB) Close() error { return db.conn.Close() }

// Ready returns nil if the database can be read and written, else what is wrong with it.
func (db *DB) Ready(ctx context.Context) error { return db.conn.Ready(ctx) }

// Commit implements [ledger.Store].
func (db *DB) Commit(ctx context.Context, change ledger.Change) error {
	write, trail, err := changeWrite(change)
	if err != nil {
		return err
	}
	if len(change.Aliases) > 0 {
		ended := db.aliased.Adding(anyAlias)
		defer func() { ended(ctx.Err() != nil || engine.IsUnavailable(err)) }()
	}
	err = db.conn.Apply(ctx, write, trail)
	if errors.Is(err, sessions.ErrConflict) {
		return db.conflict(ctx, change)
	}
	return err
}

// CommitSession implements [sessions.Store].
func (db *DB) CommitSession(ctx context.Context, change sessions.Change) error {
	return db.Commit(ctx, ledger.Change{Change: change})
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
	err := db.conn.One(ctx, `SELECT epoch FROM partitions WHERE id = ?`, []any{partition}, &stored)
	switch {
	case errors.Is(err, sessions.ErrNotFound), err == nil && stored != epoch:
		return sessions.ErrFenced
	}
	return err
}
