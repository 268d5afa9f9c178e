// Package trail reads and verifies the audit trail. Package store/engine writes it.
//
// An entry has a place in the chain of its partition and a hash over itself and the entry before it. [Table.VerifyAudit]
// follows each chain from its first entry, and compares its end with the table of heads and with heads kept elsewhere.
package trail
