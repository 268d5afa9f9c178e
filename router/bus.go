package router

import (
	"context"

	"sluice/router/lanes"
	"sluice/router/steps"
	"sluice/sessions"
)

// Bus wakes the owners of partitions and carries live events. Losing, repeating or delaying a wake or an event is
// harmless, because owners read the store: it only costs time.
type Bus interface {
	steps.Bus
	// Wake asks the owner of a lane's partition to look at the lane. It does not block and does not fail: if
	// publishing fails, the owner's next sweep of the store finds the work.
	Wake(partition int, lane sessions.Lane)
	// Fenced says that the database has another epoch of a partition than this replica, which has the lease: the database or
	// the bus has forgotten something. The partition is given back, and taken again with a new lease. It does not block.
	Fenced(partition int)
	// Emit publishes a live event without blocking. Events of one session that are
	// emitted one after the other keep their order.
	Emit(event sessions.Event)
	// Follow delivers the live events of a session with a sequence number above after (0: only new ones) until ctx
	// ends. Once it returns without an error, the subscription is active and misses no later event. The channel is
	// closed when ctx ends, or when the reader is too slow to receive every event. Only a bounded number of events is
	// kept for late readers; the last event of a run contains its result, and so does the store.
	Follow(ctx context.Context, id sessions.ID, after uint64) (<-chan sessions.Event, error)
}

// Owner takes over and releases the partitions that the bus assigns, and takes what the bus delivers for them.
type Owner struct {
	*lanes.Lanes
	steps *steps.Steps
}

// Stepped takes a message with a step of an exchange, see [steps.Steps.Stepped].
func (o Owner) Stepped(partition int, text []byte, ack func()) { o.steps.Stepped(partition, text, ack) }
