// Package bus connects replicas over NATS: it wakes the owners of partitions,
// carries live events, and gives leases. The server is embedded, or a cluster.
//
//	sluice.wake.<partition>   core NATS: a lane's name, for the partition's owner
//	sluice.members            core NATS: heartbeats and farewells of replicas
//	sluice.events.<session>   JetStream stream SLUICE_EVENTS, in memory, bounded: live and resumed views
//	sluice.events.mark        in the same stream, with the embedded server: where a new follower begins
//	sluice.steps.<partition>  JetStream stream SLUICE_STEPS, on disk, a work queue: steps of exchanges, for the partition's owner
//	SLUICE_LEASES             JetStream key-value bucket with a TTL: partition.<n>, and names
//
// In a NATS cluster the streams and the bucket are kept on three nodes.
//
// # Failure rules
//
// Everything here may be lost. A new owner subscribes to its wakes before it
// looks at the rows, so that no wake falls in between. A lease is trusted for
// less time than it lasts at the server, counted from before it was asked for,
// so that two replicas never trust the same one; and each write of an owner
// carries its epoch besides. The epoch is read before the lease is requested, and a take must find it unchanged, so that a
// replica that was frozen takes nothing from the holder of the lease. Events that can't be published are counted and
// gone: messages and runs are in the store.
//
// A server that restarts has forgotten the stream and the bucket. The repairer
// makes them again, retrying until it succeeds, and all owned partitions are
// scanned again. The holder of a lease gets it back at once; others wait until
// no replica can trust a lease from before (so the first replica at a new server takes its
// partitions after leaseTrust). Followers of the old stream are ended and
// resume; numbers of events grow over restarts.
//
// A step that can't be published is counted and published again by the worker that misses it (package steps of the
// router). Who takes over a partition replaces its consumer, so that what an earlier owner had fetched comes again
// at once.
//
// Wake and Emit write into a buffer. A connection that takes nothing holds them
// up for writeTimeout at most; it is then given up, and what does not fit the
// buffer until it is back is dropped and counted. A panic of the owner is logged
// and ends nothing else.
//
// With the embedded server there is one replica, which owns all partitions and
// has every lease at once; wakes do not go over the server. It is started at the first step of an exchange, when someone first follows a
// session, when more events wait than gatherMax, or with the gateway if it listens. While no one follows a session, events wait there and are published together.
//
// # Goroutines
//
// The repairer, the keeper (heartbeats, renewals), two a partition (one keeps it, one
// sees when it falls to another replica), one a followed session or view of the steps, the publisher of steps, a reader
// of steps for each partition (with the embedded server: that had one),
// and those of the NATS client and server. Stop waits for all but the last,
// which end with their server.
package bus
