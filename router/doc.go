// Package router puts the stages of a message together, and starts and stops them. Each stage is a package below this one: inbound
// takes events in, lanes wakes the workers, work works runs, outbound sends.
//
//	inbound ── one commit: event, run [, session] ──► lane of the session ──► claim ── agent works ── one commit: last
//	                                                                                  message, run's end, delivery
//	                                                 lane of the conversation ◄──────────────────────────┘
//	                                                      │
//	                                                      └──► gate ── commit "sending" ── platform ── commit "sent"
//
// # Failure rules
//
// The store is the source of truth. The sweep finds the work of a lost wake, and by
// the look that a new owner takes at its partition's rows. A process that dies
// leaves rows behind: a queued run or delivery is worked by the next owner; a
// running run is resumed from its last stored step; a delivery in
// "sending" is in doubt. So is one whose answer was lost. Where the adapter can
// look up what was posted, that settles it: the receipt is stored, or the message
// is sent again as what it was. Elsewhere it becomes "unknown", and is
// repeated or held as the channel is configured. A worker that lost its
// partition without knowing writes nothing: each of its writes carries its epoch.
//
// A receipt is stored before anything else happens in its lane, however long that takes,
// because a lost receipt would repeat a message.
//
// # Goroutines
//
// Those of the stages: the lanes' (see package lanes), the timers of a run's previews and the workers of reactions (see
// package work), and the sweeper with what it runs beside it, which Stop waits for.
package router
