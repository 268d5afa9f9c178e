// Package lanes runs the work of the partitions that this replica owns.
//
// A lane is a sequence of work that must stay in order: a session's runs, or a conversation's deliveries. A partition
// is a set of lanes with one owner among the replicas. Each lane with work has one goroutine, which calls its worker
// turn by turn and ends when no work is left.
//
// What comes in: [Lanes.Acquire] and [Lanes.Release] from the bus, wakes from the bus and from commits. What goes out:
// calls of a worker's turns, and wakes to other replicas.
//
// # Failure rules
//
// A wake may be lost: [Lanes.RescanAll] finds the lanes with work in the store, and so does a new owner. A failed turn
// is retried after a growing pause. A panic counts as a failure. A turn that finds its partition fenced ends, because
// the partition has another owner. A partition is released within the grace period and a few seconds: work that is
// still going on then can't write, because its writes carry the old epoch.
package lanes
