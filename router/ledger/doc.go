// Package ledger holds the rows of the gateway and the ports through which they are read and written: inbound events,
// deliveries, exchanges, approvals, pairings, files and the audit trail.
//
// A [Change] is one durable transaction. A stage reads what it needs, decides, and commits one Change, which contains
// the rows of all further work. Package store implements the ports on both databases.
package ledger
