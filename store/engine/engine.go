package engine

import "context"

// Engine runs statements on one kind of database.
//
// The statements are the same text for all kinds: arguments are "?", and what
// stands between "/*pg" and "*/" is for PostgreSQL only.
type Engine interface {
	// Apply runs the writes in order in one durable transaction. If it returns an error, nothing was written, except
	// when the error says that the connection broke during the commit. guilty is the index of the write whose
	// statement failed; the error is then the Else or Duplicate of this statement, or another error of it. guilty is
	// -1 if no single write is to blame; the error is then an *[Unavailable]. Apply is called by Workers goroutines.
	// The same transaction adds trail to the audit trail, unless trail is empty; if that fails, no write is to blame.
	Apply(ctx context.Context, writes []Write, trail Trail) (guilty int, err error)
	// Query runs a read and calls scan for each row.
	Query(ctx context.Context, sql string, args []any, scan func(Row) error) error
	// WordQuery returns the text of a query that finds the memories of a level with a word in a field. Its result is
	// one row: the field's name, and the memories' seqs minus the first argument, separated by commas. The other
	// arguments are the word, and the lowest and highest seq. Several of these texts are joined with UNION ALL.
	WordQuery(level int, field WordField) string
	// Workers returns how many transactions the engine can run at once.
	Workers() int
	// Alone reports whether no other process writes to the database.
	Alone() bool
	Close() error
}

// Brief is how the text of a read begins that finds a few rows by an index and takes no time worth mentioning. An engine
// may send such reads of several callers together. A read that may take long would hold up the others.
const Brief = "/*brief*/"

// Row is one row of a result.
type Row interface {
	Scan(dest ...any) error
}

// Write is a list of statements that belong in one transaction.
type Write []Statement

// Statement is one statement of a write. There is a fixed number of texts, so that engines can keep them prepared.
type Statement struct {
	SQL  string
	Args []any
	// Else is the error if the statement changed no row, or fewer than Rows; nil if that is fine.
	Else error
	Rows int64
	// Duplicate is the error if the statement violates a unique index; nil if that is a fault.
	Duplicate error
	// Changed receives the number of changed rows, unless it is nil or Else is set. It is valid only after the write has succeeded.
	Changed *int64
	// Last: its write comes after the others of a transaction. Several replicas write the row all the time, so each waits for it
	// only when it has the rest, and replicas don't wait for each other in a circle.
	Last bool
}

// WordField is a part of a memory that is searched for words.
type WordField string

// The words of the key and the tags, and the words of the content.
const (
	WordLabels WordField = "labels"
	WordBody   WordField = "body"
)
