// Package ledger holds the rows of the gateway and the ports through which they
// are read and written: inbound events, deliveries, exchanges, approvals,
// pairings, files and the audit trail.
//
// A [Change] is one durable transaction. A stage reads what it needs, decides, and commits one Change; whatever must happen next is a row in it. Package store implements the ports on both databases.
package ledger
