package ledger

import "time"

// Expiry says which sessions are over.
type Expiry struct {
	Now       time.Time // those whose TTL has passed by then
	IdleSince time.Time // those that are not persistent and were last active before it
	KeptSince time.Time // those that are persistent and in which nothing has happened since; zero: none of them
}
