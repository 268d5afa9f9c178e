// Package store keeps sessions, messages, runs, deliveries and the audit trail
// in a database: the shared SQL of SQLite and PostgreSQL.
//
// # Transactions
//
// A [ledger.Change] becomes one list of statements, each with the effect that
// it must have. Package store/engine merges waiting lists into one transaction.
//
// # Fences
//
// A move of a run or a delivery that names an epoch changes its row only while
// the partition has that epoch, in the same transaction and under a lock that a
// new owner's take waits for. Once a take has returned, no write of an older epoch appears.
//
// # Failure rules
//
// Commit returns nil only after the commit is durable. An [engine.Unavailable] error
// says what is wrong with the database and what to do; nothing of the change was
// written, unless the connection broke during the commit itself: the caller
// must look again, which every caller does because its changes name the state
// that they expect. When the cause is gone, the store works again without a restart.
package store
