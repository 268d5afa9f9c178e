package outbound

import (
	"context"

	"sluice/router/lanes"
	"sluice/router/ledger"
	"sluice/sessions"
)

// mediaInfo reads what a file is, without its content; ErrNotFound if it is no longer kept.
type mediaInfo interface {
	MediaInfo(ctx context.Context, id sessions.MediaID) (ledger.Media, error)
}

// Committer stores changes and wakes the lanes that they give work to, see [lanes.Lanes].
type Committer interface {
	Commit(ctx context.Context, change ledger.Change) error
}

// Reserver is a Committer that can also reserve an idle lane, see [lanes.Lanes.Reserve].
type Reserver interface {
	Committer
	Reserve(partition int, lane sessions.Lane) (lanes.Reserved, bool)
}

// Waker wakes the lanes that a change gives work to, see [lanes.Lanes].
type Waker interface {
	WakeFor(change ledger.Change)
}
