package engine

import "context"

// Engine runs statements on one kind of database.
//
// The statements are the same text for all kinds: arguments are "?", and what
// stands between "/*pg" and "*/" is for PostgreSQL only.
type Engine interface {
	// Apply runs the writes in their order in one durable transaction. With an error
	// nothing was written, unless it says that the connection broke during the commit.
	// Guilty is the index of the write whose statement failed; the error is then the
	// statement's own Else or Duplicate or a fault of that statement. It is -1 where
	// no single write is to blame; the error is then an *[Unavailable]. Apply is
	// called by Workers goroutines. The same transaction adds trail to the audit trail,
	// unless it is empty; if it can't, no write is to blame.
	Apply(ctx context.Context, writes []Write, trail Trail) (guilty int, err error)
	// Query runs a read and calls scan for each row.
	Query(ctx context.Context, sql string, args []any, scan func(Row) error) error
	// WordQuery is the text of the read that lists which memories of a level have a word in a field: one row with the
	// field's name and their seqs less the first argument, with commas between them. The other arguments are the word, and the
	// least and the greatest seq. Several of these texts are put together with UNION ALL.
	WordQuery(level int, field WordField) string
	// Workers is how many transactions the engine can have in progress at once.
	Workers() int
	// Alone reports that no other process writes to the database.
	Alone() bool
	Close() error
}

// Row is one row of a result.
type Row interface {
	Scan(dest ...any) error
}

// Write is what one transaction does at least.
type Write []Statement

// Statement is one statement of a write. Its text is one of a fixed number, so that engines can keep it prepared.
type Statement struct {
	SQL  string
	Args []any
	// Else is the error if the statement changed no row; nil: that is all right.
	Else error
	// Duplicate is the error if the statement broke a unique index; nil: that is a fault.
	Duplicate error
	// Changed gets the number of rows that the statement changed, unless it is nil. Read it only after the write succeeded.
	Changed *int64
}

// WordField is where in a memory a word is.
type WordField string

// The fields: the words of the key and the tags, and those of the content.
const (
	WordLabels WordField = "labels"
	WordBody   WordField = "body"
)
