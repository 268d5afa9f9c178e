package ledger

import "time"

// Expiry says which sessions have expired.
type Expiry struct {
	Now       time.Time // those whose TTL has ended by then
	IdleSince time.Time // those that are not persistent and were last active before it
	KeptSince time.Time // persistent ones without activity since; zero: no persistent ones
}
