// Package bus connects replicas over NATS: it wakes the owners of partitions,
// carries live events, and gives leases. The server is embedded, or a cluster.
//
//	sluice.wake.<partition>   core NATS: a lane's name, for the partition's owner
//	sluice.members            core NATS: heartbeats and farewells of replicas
//	sluice.events.<session>   JetStream stream SLUICE_EVENTS, in memory, bounded: live and resumed views
//	sluice.events.mark        in the same stream, with the embedded server: where a new follower begins
//	SLUICE_LEASES             JetStream key-value bucket with a TTL: partition.<n>, and names
//
// In a NATS cluster the stream and the bucket are kept on three nodes.
//
// # Failure rules
//
// Everything here may be lost. A new owner subscribes to its wakes before it
// looks at the rows, so that no wake falls in between. A lease is trusted for
// less time than it lasts at the server, counted from before it was asked for,
// so that two replicas never trust the same one; and each write of an owner
// carries its epoch besides. Events that can't be published are counted and
// gone: messages and runs are in the store.
//
// A server that restarts has forgotten the stream and the bucket. The mender
// makes them again, retrying until it succeeds, and all owned partitions are
// scanned again. The holder of a lease gets it back at once; others wait until
// no replica can trust a lease from before (so the first replica at a new server takes its
// partitions after leaseTrust). Followers of the old stream are ended and
// resume; numbers of events grow over restarts.
//
// Wake and Emit write into a buffer. A connection that takes nothing holds them
// up for writeTimeout at most; it is then given up, and what does not fit the
// buffer until it is back is dropped and counted. A panic of the owner is logged
// and ends nothing else.
//
// With the embedded server there is one replica, which owns all partitions and
// has every lease at once; wakes do not go over the server. It is started when someone first follows a session, or when more
// events wait than gatherMax. While no one follows a session, events wait there and are published together.
//
// # Goroutines
//
// The mender, the keeper (heartbeats, renewals), two a partition (one keeps it, one
// sees when it falls to another replica), one a followed session,
// and those of the NATS client and server. Stop waits for all but the last,
// which end with their server.
package bus
