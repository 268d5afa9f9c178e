package store

import "context"

// Engine runs statements on one kind of database.
type Engine interface {
	// Apply runs the writes in one durable transaction, in their order. An error
	// means that nothing was written; it is a statement's own Else or Duplicate, or an *[Unavailable].
	// It is called by Workers goroutines.
	Apply(ctx context.Context, writes []Write) error
	// Query runs a read and calls scan for each row.
	Query(ctx context.Context, sql string, args []any, scan func(Row) error) error
	// Workers is how many transactions the engine can have under way at once.
	Workers() int
	Close() error
}

// Row is one row of a result.
type Row interface {
	Scan(dest ...any) error
}

// Write is what one transaction does at least.
type Write []Statement

// Statement is one statement of a write, with "?" for its arguments.
type Statement struct {
	SQL  string
	Args []any
	// Else is the error if the statement changed no row; nil: that is all right.
	Else error
	// Duplicate is the error if the statement broke a unique index; nil: that is a fault.
	Duplicate error
}
