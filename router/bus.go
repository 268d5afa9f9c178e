package router

import (
	"context"

	"sluice/sessions"
)

// Bus wakes the owners of partitions and carries live events. It carries no
// truth: a wake or an event that is lost, repeated or late changes nothing but
// time, because owners read the store.
type Bus interface {
	// Wake asks the owner of a lane's partition to look at the lane. It does not
	// block and does not fail: what can't be published is made good by the owner's
	// sweep of the store.
	Wake(partition int, lane sessions.Lane)
	// Emit publishes a live event without blocking. Events of one session that are
	// emitted one after the other keep their order.
	Emit(event sessions.Event)
	// Follow delivers the live events of a session with a sequence number above
	// after (0: only what comes from now on) until ctx ends. When it returns without an error
	// the subscription stands: nothing emitted later is missed. The channel is
	// closed when ctx ends, or when the reader is so slow that an event would have
	// to be left out. Only a bounded number of events is kept for those who read later;
	// what a run came to is in its last event, and in the store.
	Follow(ctx context.Context, id sessions.ID, after uint64) (<-chan sessions.Event, error)
}
