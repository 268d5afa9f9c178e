package store

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/access"
	"sluice/store/alerts"
	"sluice/store/allowrules"
	"sluice/store/cooldowns"
	"sluice/store/engine"
	"sluice/store/limits"
	"sluice/store/marks"
	"sluice/store/memories"
	"sluice/store/nodes"
	"sluice/store/skills"
	"sluice/store/trail"
	"sluice/store/usage"
	"sluice/store/views"
)

// DB is the store on one engine: reads for each kind of row, and one commit for all kinds. It is safe for concurrent
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
	allowTable
	exchangeTable
	triggerTable
	hookTable
	alertRows
	accessTable
	viewTable
	checkTable
	nodeTable
	jobTable
	memories.Table
	todoTable
	mediaTable
	markTable
	skillTable
	usageTable
	cooldownTable
	limitTable
	auditTable
	cursorTable
	partitionTable
	retention
}

// A table has the reads of one kind of row, and the writes that touch only this kind. Everything in a message's life
// is written by [DB.Commit].
type (
	inboxTable struct { // events, talk in groups, edits
		*engine.Conn
		talk *engine.Presence // in groups
	}
	sessionTable struct {
		*engine.Conn
		recent *recentSessions
	}
	peopleTable struct { // pairings, and aliases of conversations
		*engine.Conn
		aliased *engine.Presence
	}
	messageTree    struct{ *engine.Conn } // the messages of sessions
	runTable       struct{ *engine.Conn }
	deliveryTable  struct{ *engine.Conn }
	approvalTable  struct{ *engine.Conn }
	allowTable     = allowrules.Table     // calls that are always allowed
	exchangeTable  struct{ *engine.Conn } // exchanges between agents, and their chains
	triggerTable   struct{ *engine.Conn } // the instants of jobs
	hookTable      struct{ *engine.Conn } // requests to hooks
	alertRows      = alerts.Table
	accessTable    = access.Table         // tokens made at run time, sign-ins
	viewTable      = views.Table          // what operators see at a glance
	checkTable     struct{ *engine.Conn } // what checks found
	nodeTable      = nodes.Table
	jobTable       struct{ *engine.Conn } // jobs made at run time, and pauses
	todoTable      struct{ *engine.Conn }
	mediaTable     struct{ *engine.Conn }
	markTable      = marks.Table // shared files with untrusted text
	skillTable     = skills.Table
	usageTable     = usage.Table // what models cost, and budgets
	cooldownTable  = cooldowns.Table
	limitTable     = limits.Table
	auditTable     = trail.Table
	cursorTable    struct{ *engine.Conn } // the positions of adapters
	partitionTable struct{ *engine.Conn }
	retention      struct{ *engine.Conn } // removes old rows
)

var (
	_                = ledger.NewStore[*DB]
	_ ledger.Browser = (*DB)(nil)
)

// New creates a store on an engine whose schema is up to date. The log reports when the database becomes unavailable
// and when it is back; nil means no logs.
func New(e engine.Engine, log *slog.Logger) *DB {
	c := engine.NewConn(e, log)
	return &DB{
		conn: c, inboxTable: inboxTable{c, engine.NewPresence(e.Alone())}, peopleTable: peopleTable{c, engine.NewPresence(e.Alone())}, sessionTable: sessionTable{c, newRecentSessions(e.Alone())}, messageTree: messageTree{c},
		runTable: runTable{c}, deliveryTable: deliveryTable{c}, approvalTable: approvalTable{c}, allowTable: allowTable{Conn: c}, exchangeTable: exchangeTable{c}, triggerTable: triggerTable{c}, alertRows: alertRows{Conn: c}, accessTable: accessTable{Conn: c}, viewTable: viewTable{Conn: c}, hookTable: hookTable{c}, jobTable: jobTable{c}, checkTable: checkTable{c}, nodeTable: nodeTable{Conn: c},
		Table: memories.NewTable(c, e.Alone()), todoTable: todoTable{c}, mediaTable: mediaTable{c}, markTable: markTable{Conn: c}, skillTable: skillTable{Conn: c}, cooldownTable: cooldownTable{Conn: c}, limitTable: limitTable{Conn: c}, usageTable: usageTable{Conn: c}, auditTable: auditTable{Conn: c},
		cursorTable: cursorTable{c}, partitionTable: partitionTable{c}, retention: retention{c},
	}
}

// Close finishes waiting writes and closes the database. Further calls do nothing.
func (db *DB) Close() error { return db.conn.Close() }

// Ready returns nil if the database can be read and written, and otherwise an error that says what is wrong.
func (db *DB) Ready(ctx context.Context) error { return db.conn.Ready(ctx) }

// Clock reads the clock of a database that several gateways share.
func (db *DB) Clock(ctx context.Context) (time.Time, error) {
	var micros int64
	err := db.conn.One(ctx, `SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)`, nil, &micros)
	return engine.FromMicros(micros), err
}

// Identity tells a database that several gateways share from all others. A standby server that takes over has the same one.
func (db *DB) Identity(ctx context.Context) (id string, err error) {
	err = db.conn.One(ctx, `SELECT CAST(system_identifier AS text) || '/' || CAST(oid AS text) || '/' || current_schema()
		FROM pg_control_system(), pg_database WHERE datname = current_database()`, nil, &id)
	return id, err
}

// Commit implements [ledger.Store].
func (db *DB) Commit(ctx context.Context, change ledger.Change) error {
	write, trail, err := changeWrite(change)
	if err != nil {
		return err
	}
	err = db.conn.Apply(ctx, write, trail, db.noting(&change)...)
	if errors.Is(err, sessions.ErrConflict) {
		return db.conflict(ctx, change)
	}
	return err
}

// noting begins a change for what the store remembers of its rows. The result must hear how the change ended.
func (db *DB) noting(change *ledger.Change) (ended []engine.Ended) {
	if sessions := db.recent.changing(change); sessions != nil {
		ended = append(ended, sessions)
	}
	if len(change.Aliases) > 0 {
		ended = append(ended, db.aliased.Adding(anyAlias))
	}
	for _, r := range change.AppendHistory {
		ended = append(ended, db.talk.Adding(engine.Indexed(r.Lane)))
	}
	return ended
}

// CommitSession implements [sessions.Store].
func (db *DB) CommitSession(ctx context.Context, change sessions.Change) error {
	return db.Commit(ctx, ledger.Change{Change: change})
}

// conflict tells a lost partition from a row that is not as expected.
func (db *DB) conflict(ctx context.Context, change ledger.Change) error {
	for _, r := range change.Enqueue {
		if err := db.fenced(ctx, r.Partition, r.Epoch); err != nil {
			return err
		}
	}
	for _, m := range change.Runs {
		if err := db.fenced(ctx, m.Run.Partition, m.Run.Epoch); err != nil {
			return err
		}
	}
	for _, m := range change.Deliveries {
		if m.Late {
			continue
		}
		if err := db.fenced(ctx, m.Delivery.Partition, m.Delivery.Epoch); err != nil {
			return err
		}
	}
	for _, t := range change.Triggers {
		if err := db.fenced(ctx, t.Partition, t.Epoch); err != nil {
			return err
		}
	}
	for _, g := range change.AlertGroups {
		if err := db.fenced(ctx, g.Partition, g.Epoch); err != nil {
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
