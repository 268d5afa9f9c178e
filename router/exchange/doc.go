// Package exchange runs the conversations between agents. Package announce is the protocol; this package stores the state
// of each exchange and creates the run of each step.
//
//	sessions_send ──► [Exchanges.Start], one commit: event, exchange, run of the target
//	a step's run ends ──► [Exchanges.Advance] adds to the commit of its end: the next step's run, or the end of the
//	                      exchange with its delivery, note and audit entry
//
// # Failure rules
//
// A step starts in the commit that stores the previous step, on the replica that owns that step's session. The row's
// revision decides between two writers, for example a step and a /stop. The key of a request names its exchange for
// ever: a repeated request finds its exchange. While the database is unavailable, Advance waits.
package exchange
