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
	// TakePartition makes a replica the owner of a partition and returns the new epoch, greater than any before.
	TakePartition(ctx context.Context, partition int, owner string) (epoch int64, err error)
	// WaitingLanes lists the lanes of a partition with work.
	WaitingLanes(ctx context.Context, partition int) ([]sessions.Lane, error)
	// AbortRequested reads who has asked for a run's end, if anybody.
	AbortRequested(ctx context.Context, id sessions.RunID) (sessions.AbortCause, error)
	// AbortsRequested lists the sessions of a partition with a running run that was asked to end.
	AbortsRequested(ctx context.Context, partition int) ([]sessions.ID, error)
}

// Waker reaches the owner of a partition on another replica. It does not block and does not fail: the owner's sweep of the store
// makes a lost wake good.
type Waker interface {
	Wake(partition int, lane sessions.Lane)
}

// Rest says what a lane's worker wants after a turn.
type Rest struct {
	Again bool          // look again at once
	Wait  time.Duration // look again after this time; 0: only when woken
	// Then is the turn's second half. It waits for long, so it gets a goroutine of
	// its own, whose stack has not grown with the first.
	Then Turn
}

// Turn does the next piece of a lane's work.
type Turn func() (Rest, error)
