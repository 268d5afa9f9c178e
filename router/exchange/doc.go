// Package exchange carries what agents say to each other from one session to the next. Package announce is the protocol;
// this package stores where an exchange stands and makes the run of each step.
//
//	sessions_send ──► [Exchanges.Start], one commit: event, exchange, run of the target
//	a step's run ends ──► [Exchanges.Advance] adds to the commit of its end: the next step's run, or the end of the
//	                      exchange with its delivery, note and audit entry
//
// # Failure rules
//
// A step is taken exactly when the step before it is stored, by the replica that works that step's session. The row's
// revision lets one of two writers win: a step, or the /stop that came between. The key of the request names the
// exchange for ever: a request that is repeated finds its exchange. While the database is away, Advance waits.
package exchange
