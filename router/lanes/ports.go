package lanes

import (
	"context"
	"time"

	"sluice/router/ledger"
	"sluice/sessions"
)

// Store is what the lanes need of the database.
type Store interface {
	// Commit applies the change in one durable transaction.
	Commit(ctx context.Context, change ledger.Change) error
	// PartitionEpoch reads the epoch of a partition's last owner; 0 if it never had one.
	PartitionEpoch(ctx context.Context, partition int) (int64, error)
	// TakePartition makes a replica the owner of a partition whose epoch is still the given one, and returns the new
	// epoch, which is greater; else ErrConflict.
	TakePartition(ctx context.Context, partition int, owner string, epoch int64) (int64, error)
	// WaitingLanes lists the lanes of a partition with work.
	WaitingLanes(ctx context.Context, partition int) ([]sessions.Lane, error)
	// AbortRequested reads the abort request for a run, if any.
	AbortRequested(ctx context.Context, id sessions.RunID) (sessions.AbortCause, error)
	// AbortsRequested lists the sessions of a partition whose running run was asked to stop.
	AbortsRequested(ctx context.Context, partition int) ([]sessions.ID, error)
}

// Waker reaches the owner of a partition on another replica. It does not block and does not fail: the owner's sweep
// of the store finds the work of a lost wake.
type Waker interface {
	Wake(partition int, lane sessions.Lane)
	// Fenced says that the database has another epoch of a partition that this replica still owns. The partition is given
	// back, and taken again with a new lease. It does not block.
	Fenced(partition int)
}

// Steps carries the steps of exchanges between agents to the owners of their partitions. It does not block.
type Steps interface {
	// Changed publishes the steps that a commit has queued, whose lanes then need no wake.
	Changed(change ledger.Change)
}

// Rest says when a lane's worker wants its next turn.
type Rest struct {
	Again bool          // at once
	Wait  time.Duration // after this time; 0: only when woken
	// Then is the second half of a turn that may wait for long. It runs on a new goroutine, whose stack is still
	// small.
	Then Turn
}

// Turn does the next unit of a lane's work.
type Turn func() (Rest, error)
