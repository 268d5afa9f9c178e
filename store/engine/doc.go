// Package engine is what the store needs of a database, whichever it is: statements, writes that are merged into one
// transaction, values as they are stored, and the audit trail as a chain.
//
// What comes in: reads, and [Write]s with the audit entries that belong to them. What goes out: statements to an [Engine], of
// which there is one for SQLite and one for PostgreSQL.
//
// # Transactions
//
// Waiting writes are merged into one transaction (group commit), so that many callers share the wait for the disk. If
// a statement has not done what it must, the transaction is rolled back, the writes before the guilty one
// are committed, and it is retried at the head of the next transaction. Only
// there does it fail for good: what it was refused for is then durable.
//
// # Failure rules
//
// An [Unavailable] error says what is wrong with the database and what to do; nothing of the write was stored, unless
// the connection broke during the commit itself. One log line says that the database is unavailable, one that it is back.
//
// # Goroutines
//
// The group committer's workers, which [Conn.Close] waits for.
package engine
