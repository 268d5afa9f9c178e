// Package jobs lists jobs, and makes, changes, pauses and fires them at run time.
//
//	a person, a program or an agent ──► Jobs ──► one commit: the job's row, its waiting trigger, an audit entry ──► the owner of the partition
//
// A job of the configuration can only be paused, resumed and fired; its row says that it is paused. A job made at run time is its
// row: the object as in sluice.yaml, with the label and the authority of who made it. The configuration reads and checks both.
//
// # Failure rules
//
// The row of a job and its waiting trigger change in one commit, which expects the revision of both. If the instant is fired
// at the same time, one of the two commits is refused, and the change is worked out again. A change that is refused five times
// in a row is [sessions.ErrConflict].
package jobs
